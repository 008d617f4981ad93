#include "serve/export/raw_id_export.h"

#include <algorithm>

#include "embedding/managed_collision/index/zch_probe.h"
#include "models/ranking_model.h"

namespace tessera::serve {
namespace {

using tessera::internal::kEmptySlot;
using tessera::internal::kNobody;

constexpr char kGrowingIds[] = "_growing_ids";

// Reads the state of a module: i64 [n], or [n, 1].
class StateOf {
 public:
  StateOf(Context& ctx, const Checkpoint& checkpoint, const std::string& prefix)
      : ctx_(ctx), checkpoint_(checkpoint), prefix_(prefix) {}

  std::vector<int64_t> Numbers(const std::string& name, int64_t count) const {
    const CheckpointEntry& entry = FindEntry(checkpoint_, prefix_ + name);
    const SafetensorsEntry& tensor = entry.tensor;
    if (tensor.dtype != DType::kI64 || tensor.shape.numel() != count)
      throw Error(Format("{}: {}: expected {} numbers i64, got {} {}", checkpoint_.path, entry.name,
                         count, tensor.dtype, tensor.shape));
    return checkpoint_.Read(ctx_, entry).ToVector<int64_t>();
  }

  // Throws Error if a tensor is there that the module does not have.
  void CheckLacks(const std::string& name) const {
    for (const CheckpointEntry& entry : checkpoint_.tensors)
      if (entry.name == prefix_ + name)
        throw Error(Format("{}: it has '{}', which this model does not have", checkpoint_.path,
                           entry.name));
  }

 private:
  Context& ctx_;
  const Checkpoint& checkpoint_;
  const std::string& prefix_;
};

// Reads a growing module: its first rows are shared by ids without one, and the index's rows come
// after them.
RawIdExport Read(const StateOf& state, const GrowingIndexOptions& options, int64_t rows_in_use,
                 int64_t table_rows) {
  const int64_t shared = options.shared_rows, index_rows = rows_in_use - shared;
  RawIdExport read{
      .rule = {.max_rows = table_rows, .unknown = UnknownIds::kRows, .num_rows = shared},
      .ids = {}};
  const std::vector<int64_t> ids = state.Numbers(kGrowingIds, index_rows),
                             counts = state.Numbers("_growing_counts", index_rows);
  for (size_t r = 0; r < ids.size(); ++r)
    if (counts[r] > 0) read.ids.push_back({ids[r], static_cast<int64_t>(r) + shared});
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
  if (options.eviction == HashZchEviction::kNone) state.CheckLacks("_hash_zch_metadata");
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

void CheckRows(const Checkpoint& checkpoint, const std::string& prefix,
               const std::vector<RemapEntry>& ids, int64_t rows) {
  for (const RemapEntry& entry : ids)
    if (!IsRow(entry.row, rows))
      throw Error(Format("{}: {}_*: id {} has row {} of {}", checkpoint.path, prefix, entry.id,
                         entry.row, rows));
}

// REQUIRES: ids ascend.
void CheckOneRowEach(const Checkpoint& checkpoint, const std::string& prefix,
                     const std::vector<RemapEntry>& ids) {
  for (size_t i = 1; i < ids.size(); ++i)
    if (ids[i].id == ids[i - 1].id)
      throw Error(Format("{}: {}_*: id {} has two rows", checkpoint.path, prefix, ids[i].id));
}

// The number of rows, the first ones, that a module's ids may name; `most` are there.
int64_t RowsOfModule(const Checkpoint& checkpoint, const std::string& prefix,
                     const ManagedCollisionConfig& config, int64_t most) {
  const auto* growing = std::get_if<GrowingIndexOptions>(&config);
  if (growing == nullptr) return most;
  const int64_t rows =
      FindEntry(checkpoint, prefix + kGrowingIds).tensor.shape.numel() + growing->shared_rows;
  if (rows > most)
    throw Error(Format("{}: {}{}: {} rows, but there are {}", checkpoint.path, prefix, kGrowingIds,
                       rows, most));
  return rows;
}

RawIdExport ReadModule(Context& ctx, const Checkpoint& checkpoint, const std::string& prefix,
                       const ManagedCollisionConfig& config, int64_t most_rows) {
  const int64_t rows = RowsOfModule(checkpoint, prefix, config, most_rows);
  RawIdExport read = std::visit(
      [&](const auto& options) {
        return Read(StateOf(ctx, checkpoint, prefix), options, rows, most_rows);
      },
      config);
  CheckRows(checkpoint, prefix, read.ids, rows);
  return read;
}

RawIdExport ReadParts(Context& ctx, const Checkpoint& checkpoint, const std::string& prefix,
                      const ManagedTableConfig& config, int64_t table_rows) {
  const HashParts parts = MakeHashParts(prefix, table_rows, config.num_parts);
  RawIdExport all;
  for (int64_t part = 0; part < parts.num_parts; ++part) {
    const RawIdExport read =
        ReadModule(ctx, checkpoint, prefix + PartPrefix(part), config.module, parts.rows_a_part);
    all.rule = read.rule;
    all.rule.num_parts = parts.num_parts;
    all.rule.interleaved = std::holds_alternative<GrowingIndexOptions>(config.module);
    all.rule.max_rows = all.rule.interleaved ? table_rows : 0;
    for (const auto& [id, row] : read.ids)
      all.ids.push_back({all.rule.Key(part, id), all.rule.RowOfPart(table_rows, part, row)});
  }
  return all;
}

}  // namespace

std::string IdPrefix(const std::string& table) {
  const std::string parameter = RankingModel::TableParameterName(table);
  return parameter.substr(0, parameter.rfind('.') + 1);
}

const CheckpointEntry& FindEntry(const Checkpoint& checkpoint, std::string_view name) {
  for (const CheckpointEntry& entry : checkpoint.tensors)
    if (entry.name == name) return entry;
  throw Error(Format("{}: {} is missing", checkpoint.path, name));
}

int64_t RowsInUse(const Checkpoint& checkpoint, const std::string& prefix,
                  const ManagedTableConfig& config, int64_t table_rows) {
  if (config.num_parts == 0) return RowsOfModule(checkpoint, prefix, config.module, table_rows);
  const HashParts parts = MakeHashParts(prefix, table_rows, config.num_parts);
  int64_t most = 0;
  for (int64_t part = 0; part < parts.num_parts; ++part)
    most = std::max(most, RowsOfModule(checkpoint, prefix + PartPrefix(part), config.module,
                                       parts.rows_a_part));
  return most * parts.num_parts;
}

RawIdExport ExportRawIds(Context& ctx, const Checkpoint& checkpoint, const std::string& prefix,
                         const ManagedTableConfig& config, int64_t table_rows) {
  RawIdExport read = config.num_parts > 0
                         ? ReadParts(ctx, checkpoint, prefix, config, table_rows)
                         : ReadModule(ctx, checkpoint, prefix, config.module, table_rows);
  std::sort(read.ids.begin(), read.ids.end(),
            [](const RemapEntry& a, const RemapEntry& b) { return a.id < b.id; });
  CheckOneRowEach(checkpoint, prefix, read.ids);
  return read;
}

}  // namespace tessera::serve
