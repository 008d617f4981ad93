#include "serve/export/table_export.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "models/ranking_model.h"
#include "runtime/tensor.h"
#include "serve/export/prune_table.h"
#include "serve/export/raw_id_export.h"

namespace tessera::serve {
namespace {

QuantizeOptions OptionsFor(const RowCodec& codec, QuantizeOptions options) {
  options.encode.search = options.encode.search && TakesSearch(codec.type);
  if (options.nan == NanPolicy::kError) options.nan = NanPolicy::kChecked;  // tables were checked
  return options;
}

// Sums of the columns of rows without an infinity; a NaN, which is stored as 0 where it is allowed,
// counts as 0.
struct FiniteSums {
  std::vector<double> columns;
  int64_t rows = 0;

  void Add(std::span<const float> row) {
    if (std::ranges::any_of(row, [](float x) { return std::isinf(x); })) return;
    ++rows;
    for (size_t d = 0; d < row.size(); ++d)
      columns[d] += std::isnan(row[d]) ? 0 : static_cast<double>(row[d]);
  }
};

// Adds the rows that are read to sums of columns.
RowSource Summing(const RowSource& source, FiniteSums& sums) {
  RowSource summing = source;
  summing.read = [read = source.read, dim = static_cast<size_t>(source.dim), &sums](
                     Context& ctx, int64_t begin, int64_t end) {
    Tensor rows = read(ctx, begin, end);
    const float* row = rows.data<float>();
    for (int64_t r = begin; r < end; ++r, row += dim) sums.Add({row, dim});
    return rows;
  };
  return summing;
}

// The sums of all rows of a table.
FiniteSums SumsOf(Context& ctx, const RowSource& source) {
  FiniteSums sums{std::vector<double>(static_cast<size_t>(source.dim))};
  ForEachBlock(ctx, Summing(source, sums), [](const Tensor&) {});
  return sums;
}

// The mean row, [D]; 0 for a table without rows.
Tensor Mean(Context& ctx, const RowSource& source, const FiniteSums& sums) {
  if (sums.rows == 0 && source.rows > 0)
    throw Error(
        Format("table {}: none of its {} rows is finite, so there is no mean for the default row",
               source.table, source.rows));
  std::vector<float> mean;
  const auto rows = static_cast<double>(std::max<int64_t>(sums.rows, 1));
  for (const double sum : sums.columns) mean.push_back(static_cast<float>(sum / rows));
  return Tensor::From(ctx, {std::ssize(mean)}, mean);
}

void CheckTable(const Checkpoint& checkpoint, const CheckpointEntry& entry, const Shape& expected,
                bool growing) {
  const Shape& shape = entry.tensor.shape;
  const bool fits = shape == expected || (growing && shape.rank() == 2 && shape[1] == expected[1] &&
                                          (shape[0] >= expected[0] || shape[0] == 0));
  if (!fits)
    throw Error(
        Format("{}: {}: expected shape {}, got {}", checkpoint.path, entry.name, expected, shape));
  const DType dtype = entry.tensor.dtype;
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16)
    throw Error(
        Format("{}: {}: expected f32, f16 or bf16, got {}", checkpoint.path, entry.name, dtype));
}

// The first `rows` of a table.
RowSource SourceOf(const Checkpoint& checkpoint, const CheckpointEntry& entry,
                   const std::string& table, int64_t rows) {
  const int64_t dim = entry.tensor.shape[1], row_bytes = dim * SizeOf(entry.tensor.dtype);
  return {.table = table,
          .rows = rows,
          .dim = dim,
          .read = [&checkpoint, &entry, dim, row_bytes](Context& ctx, int64_t begin, int64_t end) {
            // A growing table that no forward has met yet: its row of unknown ids adds nothing.
            if (entry.tensor.shape[0] == 0) return Tensor::Zeros(ctx, {end - begin, dim});
            const Tensor read = Tensor::Empty(ctx, {end - begin, dim}, entry.tensor.dtype);
            checkpoint.read_bytes(entry, begin * row_bytes, read.nbytes(), read.raw_data());
            return read.To(ctx, DType::kF32);
          }};
}

// The first rows of each part of a table of `rows` rows in all, part by part in turns
// (RawIdRule::interleaved).
RowSource Interleaved(const RowSource& all, int64_t rows, int64_t num_parts) {
  const int64_t rows_a_part = all.rows / num_parts;
  RowSource source = all;
  source.rows = rows;
  source.read = [read = all.read, rows_a_part, num_parts, dim = all.dim](
                    Context& ctx, int64_t begin, int64_t end) {
    const Tensor rows = Tensor::Empty(ctx, {end - begin, dim});
    for (int64_t part = 0; part < num_parts; ++part) {
      // Row r of the part is row r · num_parts + part.
      const auto first_at = [&](int64_t row) { return (row - part + num_parts - 1) / num_parts; };
      const int64_t first = first_at(begin), last = first_at(end);
      if (first >= last) continue;
      const Tensor of_part = read(ctx, part * rows_a_part + first, part * rows_a_part + last);
      const float* from = of_part.data<float>();
      for (int64_t r = first; r < last; ++r, from += dim)
        std::copy_n(from, dim, rows.data<float>() + (r * num_parts + part - begin) * dim);
    }
    return rows;
  };
  return source;
}

const ManagedTableConfig* ManagedCollisionOf(const TrainConfig& config, const std::string& table) {
  const auto found = config.managed_collision.find(table);
  return found == config.managed_collision.end() ? nullptr : &found->second;
}

RowSource SourceOf(const Checkpoint& checkpoint, const TrainConfig& config,
                   const EmbeddingBagConfig& table) {
  const CheckpointEntry& entry =
      FindEntry(checkpoint, RankingModel::TableParameterName(table.name));
  const ManagedTableConfig* managed = ManagedCollisionOf(config, table.name);
  const int64_t rows = managed == nullptr ? table.num_embeddings
                                          : RowsInUse(checkpoint, IdPrefix(table.name), *managed,
                                                      table.num_embeddings);
  CheckTable(checkpoint, entry, {rows, table.embedding_dim}, rows < table.num_embeddings);
  const int64_t parts = managed == nullptr ? 0 : managed->num_parts;
  if (parts == 0 || !std::holds_alternative<GrowingIndexOptions>(managed->module))
    return SourceOf(checkpoint, entry, table.name, rows);
  return Interleaved(SourceOf(checkpoint, entry, table.name, table.num_embeddings), rows, parts);
}

}  // namespace

void TableExport::Keep(std::vector<int64_t> of_ids, RemapKind remap) {
  kept = std::move(of_ids);
  spec.ids = spec.rows;
  spec.rows = std::ssize(kept);
  spec.remap = remap;
  before = rows;
  rows = RowsAt(rows, kept);
}

std::vector<RowSource> RowsOf(const Checkpoint& checkpoint, const TrainConfig& config) {
  std::vector<RowSource> sources;
  for (const EmbeddingBagConfig& table : config.tables)
    sources.push_back(SourceOf(checkpoint, config, table));
  return sources;
}

std::vector<TableExport> ExportTables(Context& ctx, const Checkpoint& checkpoint,
                                      const TrainConfig& config,
                                      const std::vector<TableSpec>& tables) {
  const std::vector<RowSource> sources = RowsOf(checkpoint, config);
  std::vector<TableExport> exports;
  for (size_t t = 0; t < tables.size(); ++t) {
    const std::string& name = tables[t].name;
    const CheckpointEntry& entry = FindEntry(checkpoint, RankingModel::TableParameterName(name));
    TableExport& table =
        exports.emplace_back(TableExport{tables[t], sources[t], entry.tensor.nbytes(), {}, {}});
    table.spec.rows = sources[t].rows;
    const ManagedTableConfig* managed = ManagedCollisionOf(config, name);
    if (managed == nullptr) continue;
    RawIdExport raw =
        ExportRawIds(ctx, checkpoint, IdPrefix(name), *managed, config.tables[t].num_embeddings);
    table.spec.raw_ids = raw.rule;
    if (raw.rule.unknown != UnknownIds::kDefault) table.spec.default_row = false;
    table.ids = std::move(raw.ids);
  }
  return exports;
}

void CheckNoNanIn(Context& ctx, const std::vector<TableExport>& tables) {
  std::vector<RowSource> sources;
  for (const TableExport& table : tables) sources.push_back(table.rows);
  CheckNoNan(ctx, sources);
}

QuantizationError StreamRows(Context& ctx, const TableExport& table, const QuantizeOptions& all,
                             const StreamedTensor::Sink& sink) {
  const RowCodec& codec = table.spec.codec;
  const QuantizeOptions options = OptionsFor(codec, all);
  const bool pruned = !table.kept.empty();
  FiniteSums sums{std::vector<double>(static_cast<size_t>(table.rows.dim))};
  QuantizationError error = QuantizeTable(
      ctx, table.spec.default_row && !pruned ? Summing(table.rows, sums) : table.rows, codec,
      options, [&](int64_t, const Tensor& stored) { sink(stored.raw_data(), stored.nbytes()); });
  if (pruned && error.worst_row >= 0)
    error.worst_row = table.kept[static_cast<size_t>(error.worst_row)];
  if (!table.spec.default_row) return error;
  if (pruned) sums = SumsOf(ctx, table.before);
  const Tensor mean = Mean(ctx, pruned ? table.before : table.rows, sums);
  const Tensor row = QuantizeDefaultRow(ctx, DefaultRowOf(table.rows, mean), codec, options, error);
  sink(row.raw_data(), row.nbytes());
  return error;
}

}  // namespace tessera::serve
