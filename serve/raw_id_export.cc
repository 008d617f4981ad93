#include "serve/raw_id_export.h"

#include <algorithm>
#include <limits>

namespace tessera::serve {
namespace {

constexpr char kGrowingIds[] = "_growing_ids";
constexpr int64_t kNobody = std::numeric_limits<int64_t>::max();  // in MCH's list
constexpr int64_t kEmptySlot = -1;                                // in hash ZCH's slots

// State of a module: i64 [n], or [n, 1].
class StateOf {
 public:
  StateOf(Context& ctx, const Checkpoint& checkpoint, const std::string& prefix)
      : ctx_(ctx), checkpoint_(checkpoint), prefix_(prefix) {}

  std::vector<int64_t> Numbers(const std::string& name, int64_t count) const {
    const CheckpointEntry& entry = EntryOf(checkpoint_, prefix_ + name);
    const SafetensorsEntry& tensor = entry.tensor;
    if (tensor.dtype != DType::kI64 || tensor.shape.numel() != count)
      throw Error(Format("{}: {}: expected {} numbers i64, got {} {}", checkpoint_.path, entry.name,
                         count, tensor.dtype, tensor.shape));
    return checkpoint_.Read(ctx_, entry).ToVector<int64_t>();
  }

 private:
  Context& ctx_;
  const Checkpoint& checkpoint_;
  const std::string& prefix_;
};

int64_t GrowingRows(const Checkpoint& checkpoint, const std::string& prefix) {
  return EntryOf(checkpoint, prefix + kGrowingIds).tensor.shape.numel();
}

// Row 0 is that of ids without one; the index's rows are behind it.
RawIdExport Read(const StateOf& state, const GrowingIndexOptions&, int64_t rows_in_use,
                 int64_t table_rows) {
  RawIdExport read{.rule = {.max_rows = table_rows, .unknown = UnknownIds::kRows}, .ids = {}};
  const std::vector<int64_t> ids = state.Numbers(kGrowingIds, rows_in_use - 1),
                             counts = state.Numbers("_growing_counts", rows_in_use - 1);
  for (size_t r = 0; r < ids.size(); ++r)
    if (counts[r] > 0) read.ids.push_back({ids[r], static_cast<int64_t>(r) + 1});
  return read;
}

RawIdExport Read(const StateOf& state, const MchConfig& config, int64_t, int64_t table_rows) {
  const int64_t zch_size = table_rows - config.mch_size;
  RawIdExport read{.rule = {.hash_below = config.input_hash_size, .unknown = UnknownIds::kRows},
                   .ids = {}};
  read.rule.first_row = config.mch_size == 0 ? zch_size - 1 : zch_size;
  read.rule.num_rows = std::max<int64_t>(1, config.mch_size);
  const std::vector<int64_t> ids = state.Numbers("_mch_sorted_raw_ids", zch_size),
                             rows = state.Numbers("_mch_remapped_ids_mapping", zch_size);
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] != kNobody) read.ids.push_back({ids[i], rows[i]});
  return read;
}

RawIdExport Read(const StateOf& state, HashZchOptions options, int64_t, int64_t table_rows) {
  options.zch_size = table_rows;
  Context ctx({.threads = 1});
  const int64_t reserved = HashZchManagedCollisionModule(ctx, options).reserved_slots_per_bucket();
  RawIdExport read{
      .rule = {.unknown = reserved == 0 && options.disable_fallback ? UnknownIds::kDefault
                                                                    : UnknownIds::kSlots,
               .buckets = options.total_num_buckets,
               .reserved = reserved,
               .input_hash_size = options.input_hash_size},
      .ids = {}};
  const std::vector<int64_t> ids = state.Numbers("_hash_zch_identities", table_rows);
  for (size_t slot = 0; slot < ids.size(); ++slot)
    if (ids[slot] != kEmptySlot) read.ids.push_back({ids[slot], static_cast<int64_t>(slot)});
  return read;
}

void CheckIds(const Checkpoint& checkpoint, const std::string& prefix,
              const std::vector<RemapEntry>& ids, int64_t rows) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!IsRow(ids[i].row, rows))
      throw Error(Format("{}: {}_*: id {} has row {} of {}", checkpoint.path, prefix, ids[i].id,
                         ids[i].row, rows));
    if (i > 0 && ids[i].id == ids[i - 1].id)
      throw Error(Format("{}: {}_*: id {} has two rows", checkpoint.path, prefix, ids[i].id));
  }
}

}  // namespace

const CheckpointEntry& EntryOf(const Checkpoint& checkpoint, const std::string& name) {
  for (const CheckpointEntry& entry : checkpoint.tensors)
    if (entry.name == name) return entry;
  throw Error(Format("{}: {} is missing", checkpoint.path, name));
}

int64_t RowsInUse(const Checkpoint& checkpoint, const std::string& prefix,
                  const ManagedCollisionConfig& config, int64_t table_rows) {
  if (!std::holds_alternative<GrowingIndexOptions>(config)) return table_rows;
  const int64_t rows = GrowingRows(checkpoint, prefix) + 1;
  if (rows > table_rows)
    throw Error(Format("{}: {}{}: {} rows, but the table has {}", checkpoint.path, prefix,
                       kGrowingIds, rows, table_rows));
  return rows;
}

RawIdExport ExportRawIds(Context& ctx, const Checkpoint& checkpoint, const std::string& prefix,
                         const ManagedCollisionConfig& config, int64_t table_rows) {
  const int64_t rows = RowsInUse(checkpoint, prefix, config, table_rows);
  RawIdExport read = std::visit(
      [&](const auto& options) {
        return Read(StateOf(ctx, checkpoint, prefix), options, rows, table_rows);
      },
      config);
  std::sort(read.ids.begin(), read.ids.end(),
            [](const RemapEntry& a, const RemapEntry& b) { return a.id < b.id; });
  CheckIds(checkpoint, prefix, read.ids, rows);
  return read;
}

}  // namespace tessera::serve
