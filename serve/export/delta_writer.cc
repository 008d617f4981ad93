#include "serve/export/delta_writer.h"

#include <cstring>

#include "runtime/files/files.h"
#include "runtime/tensor.h"
#include "serve/export/export_tensors.h"
#include "serve/export/model_writer.h"
#include "train/checkpoint/version_folders.h"

namespace tessera::serve {
namespace {

// The options that made the model, as far as its tables still show them.
WriteModelOptions OptionsOf(const ModelSpec& spec, NanPolicy nan) {
  WriteModelOptions options{.dense_type = spec.dense_type,
                            .quantize = {.nan = nan, .encode = {.search = spec.search}}};
  for (const TableSpec& table : spec.tables) {
    options.table_codecs[table.name] = table.codec;
    if (table.default_row) options.default_row = DefaultRow::kMean;
  }
  return options;
}

// The stored rows of a table that differ from those of a model.
class ChangedRows {
 public:
  // stored: u8 [rows, row bytes].
  explicit ChangedRows(const Tensor& stored) : stored_(stored), row_bytes_(stored.dim(1)) {}

  // The next rows, whole ones.
  void Compare(const void* bytes, int64_t count) {
    const auto* row = static_cast<const uint8_t*>(bytes);
    for (const uint8_t* end = row + count; row < end; row += row_bytes_, ++next_)
      if (next_ >= stored_.dim(0) || std::memcmp(row, Stored(next_), RowSize()) != 0) {
        numbers_.push_back(next_);
        bytes_.insert(bytes_.end(), row, row + row_bytes_);
      }
  }
  int64_t size() const { return std::ssize(numbers_); }
  int64_t added() const { return next_ - stored_.dim(0); }

  void AddTo(Context& ctx, const TableSpec& table, StreamedSafetensors& content) const {
    if (numbers_.empty()) return;
    AddPadded(content, DeltaRowNumbersName(table), Streamed(ctx, Tensor::From(ctx, numbers_)));
    AddPadded(content, DeltaRowBytesName(table),
              Streamed(ctx, Tensor::From(ctx, {size(), row_bytes_}, bytes_)));
  }

 private:
  size_t RowSize() const { return static_cast<size_t>(row_bytes_); }
  const uint8_t* Stored(int64_t row) const {
    return static_cast<const uint8_t*>(stored_.raw_data()) + row * row_bytes_;
  }

  const Tensor stored_;
  const int64_t row_bytes_;
  int64_t next_ = 0;
  std::vector<int64_t> numbers_;
  std::vector<uint8_t> bytes_;
};

struct ChangedIds {
  std::vector<int64_t> set, removed;  // set: (id, row) after (id, row)
};

// REQUIRES: both ascend by id.
ChangedIds Compare(const std::vector<RemapEntry>& before, const std::vector<RemapEntry>& after) {
  ChangedIds changed;
  auto old = before.begin();
  for (const RemapEntry& entry : after) {
    for (; old != before.end() && old->id < entry.id; ++old) changed.removed.push_back(old->id);
    const bool known = old != before.end() && old->id == entry.id;
    if (!known || old->row != entry.row) {
      changed.set.push_back(entry.id);
      changed.set.push_back(entry.row);
    }
    old += known ? 1 : 0;
  }
  for (; old != before.end(); ++old) changed.removed.push_back(old->id);
  return changed;
}

void AddIds(Context& ctx, const TableSpec& table, const ChangedIds& ids,
            StreamedSafetensors& content) {
  if (!ids.removed.empty())
    AddPadded(content, DeltaRemovedIdsName(table), Streamed(ctx, Tensor::From(ctx, ids.removed)));
  if (ids.set.empty()) return;
  const Tensor set = Tensor::From(ctx, {std::ssize(ids.set) / 2, 2}, ids.set);
  AddPadded(content, DeltaSetIdsName(table), Streamed(ctx, set));
}

// Table `t` of `model` becomes `table`.
TableChange AddTable(Context& ctx, const ServedModel& model, size_t t, const TableExport& table,
                     const QuantizeOptions& options, StreamedSafetensors& content) {
  ChangedRows rows(model.tables().Rows(t));
  StreamRows(ctx, table, options,
             [&](const void* bytes, int64_t count) { rows.Compare(bytes, count); });
  rows.AddTo(ctx, table.spec, content);
  ChangedIds ids;
  if (const RawIdMap* before = model.tables().ids(t)) ids = Compare(before->Entries(), table.ids);
  AddIds(ctx, table.spec, ids, content);
  return {.spec = table.spec,
          .changed = rows.size(),
          .added = rows.added(),
          .ids_set = std::ssize(ids.set) / 2,
          .ids_removed = std::ssize(ids.removed)};
}

// The checkpoint's tables, of which pruned ones keep the rows that `model` has.
std::vector<TableExport> TablesAfter(Context& ctx, const Checkpoint& checkpoint,
                                     const TrainConfig& config, const ModelSpec& spec,
                                     const ServedModel& model) {
  std::vector<TableExport> tables = ExportTables(ctx, checkpoint, config, spec.tables);
  for (size_t t = 0; t < tables.size() && t < model.spec().tables.size(); ++t) {
    const TableSpec& before = model.spec().tables[t];
    if (before.pruned() && before.ids == tables[t].spec.rows)
      tables[t].Keep(KeptIds(*model.remaps()[t], before), before.remap);
  }
  return tables;
}

// Throws Error where the delta of a version in a folder of versions would have a number that
// another one there has or had.
void CheckNumberIsFree(const ModelChain& chain, int64_t number) {
  const auto place = PlaceOfVersion(chain.directory());
  const int64_t highest = place ? HighestVersionIn(place->folder) : 0;
  if (highest < number) return;
  throw Error(Format(
      "{}: its next delta would be version {}, a number that {} has or had: tessera quantize "
      "-o {} writes version {}",
      chain.directory(), number, place->folder, place->folder, highest + 1));
}

}  // namespace

WrittenDelta WriteDelta(Context& ctx, const Checkpoint& checkpoint,
                        const std::optional<TrainConfig>& given, ModelChain& chain, NanPolicy nan) {
  const TrainConfig config = ReadConfig(checkpoint, given);
  const std::shared_ptr<const ServedModel> before = chain.model();
  const ServedModel& model = *before;
  const WriteModelOptions options = OptionsOf(model.spec(), nan);
  ModelSpec spec = MakeSpec(config, options);
  spec.trained = TrainedOf(checkpoint);
  const std::vector<TableExport> tables = TablesAfter(ctx, checkpoint, config, spec, model);
  for (size_t t = 0; t < tables.size(); ++t) spec.tables[t] = tables[t].spec;
  spec.version = model.spec().version + 1;
  spec.weights = model.spec().weights;
  CheckFollows(model.spec(), spec, checkpoint.path);
  if (nan == NanPolicy::kError) CheckNoNanIn(ctx, tables);

  CheckNumberIsFree(chain, spec.version);
  WrittenDelta delta{.path = PathIn(chain.directory(), DeltaFileName(spec.version)),
                     .version = spec.version,
                     .tables = {}};
  StreamedSafetensors content;
  AddDensePart(ctx, checkpoint, spec, content);
  for (size_t t = 0; t < tables.size(); ++t)
    delta.tables.push_back(AddTable(ctx, model, t, tables[t], options.quantize, content));
  content.metadata = {
      {kDeltaKey, kDeltaFormat}, {kDeltaModelKey, ToJson(spec)}, {kFollowsKey, chain.crc32()}};
  WriteModelFile(delta.path, content);
  SyncFolder(chain.directory());
  chain.TakeNext();
  return delta;
}

}  // namespace tessera::serve
