#include "embedding/quantized/quantize_tables.h"

#include <algorithm>
#include <numeric>

namespace tessera::quant {
namespace {

template <typename Config>
FloatTable FromEntry(const SafetensorsFile& file, const std::string& prefix, const Config& config,
                     PoolingType pooling) {
  FloatTable table{config.name, config.feature_names, pooling, config.index_remap,
                   SourceOf(file, prefix + config.name + ".weight")};
  TESSERA_CHECK(table.rows.rows == config.num_embeddings && table.rows.dim == config.embedding_dim,
                "table {}: {} rows of {} in the file; its config says {} of {}", config.name,
                table.rows.rows, table.rows.dim, config.num_embeddings, config.embedding_dim);
  return table;
}

// Rows [begin, end) of a table as they are now, wherever they lie.
Tensor RowsNow(Context& ctx, const TableBatchedEmbedding& tables, int t, int64_t begin,
               int64_t end) {
  if (!tables.rows().part(t, 0).stored) {
    if (tables.caches().holds_updates(t)) tables.caches().Flush(ctx);
    return tables.weight(t).Rows(begin, end);
  }
  const Tensor ids = Tensor::EmptyHost({end - begin}, DType::kI64);
  std::iota(ids.span<int64_t>().begin(), ids.span<int64_t>().end(), begin);
  return tables.rows().Take(ctx, t, 0, ids);
}

// A source of the rows of a table, which are read in blocks as they are asked for.
RowSource SourceOf(const TableBatchedEmbedding& tables, int t) {
  const Tensor rows = tables.rows().part(t, 0).tensor;
  return {tables.table(t).name, rows.dim(0), rows.dim(1),
          [tables, t](Context& ctx, int64_t begin, int64_t end) {
            return RowsNow(ctx, tables, t, begin, end).To(ctx, DType::kF32);
          }};
}

const TableQuantization& HowOf(const TablesQuantization& how, const std::string& table) {
  const auto found = how.tables.find(table);
  return found != how.tables.end() ? found->second : how.all;
}

void CheckListed(const std::vector<FloatTable>& tables, const TablesQuantization& how) {
  for (const auto& [name, unused] : how.tables)
    TESSERA_CHECK(std::any_of(tables.begin(), tables.end(),
                              [&](const FloatTable& t) { return t.name == name; }),
                  "table {}: it is to be quantized, but there is none of that name", name);
}

// The source of the kept rows alone.
RowSource Kept(const FloatTable& table, const TableQuantization& how) {
  RowSource source = table.rows;
  if (how.kept_rows == -1) return source;
  TESSERA_CHECK(how.kept_rows >= 0 && how.kept_rows <= source.rows,
                "table {}: {} rows are to be kept, of {}", table.name, how.kept_rows, source.rows);
  source.rows = how.kept_rows;
  return source;
}

QuantizationError StoreRows(Context& ctx, const RowSource& source, const TableQuantization& how,
                            const QuantizeOptions& options, QuantizedTable& table) {
  table.has_default_row = how.default_row.defined();
  table.rows = Tensor::Empty(
      ctx, {source.rows + table.has_default_row, RowBytes(how.codec, source.dim)}, DType::kU8);
  QuantizationError error =
      QuantizeTableInto(ctx, source, how.codec, options, table.rows.Rows(0, source.rows));
  if (table.has_default_row)
    table.rows.Rows(source.rows, source.rows + 1)
        .CopyFrom(ctx, QuantizeDefaultRow(ctx, DefaultRowOf(source, how.default_row), how.codec,
                                          options, error));
  return error;
}

}  // namespace

std::vector<FloatTable> FloatTablesOf(const TableBatchedEmbedding& tables) {
  std::vector<FloatTable> result;
  for (int t = 0; t < tables.num_tables(); ++t) {
    const BaseEmbeddingConfig& config = tables.table(t);
    result.push_back({config.name, config.feature_names, tables.pooling(t), config.index_remap,
                      SourceOf(tables, t)});
  }
  return result;
}

std::vector<FloatTable> FloatTablesOf(const SafetensorsFile& file, const std::string& prefix,
                                      std::span<const EmbeddingBagConfig> configs) {
  std::vector<FloatTable> tables;
  for (const EmbeddingBagConfig& config : configs)
    tables.push_back(FromEntry(file, prefix, config, config.pooling));
  return tables;
}
std::vector<FloatTable> FloatTablesOf(const SafetensorsFile& file, const std::string& prefix,
                                      std::span<const EmbeddingConfig> configs) {
  std::vector<FloatTable> tables;
  for (const EmbeddingConfig& config : configs)
    tables.push_back(FromEntry(file, prefix, config, PoolingType::kNone));
  return tables;
}

QuantizedTables QuantizeTables(Context& ctx, const std::vector<FloatTable>& tables,
                               const TablesQuantization& how) {
  CheckListed(tables, how);
  std::vector<RowSource> sources, defaults;
  for (const FloatTable& table : tables) {
    const TableQuantization& table_how = HowOf(how, table.name);
    RowBytes(table_how.codec, table.rows.dim);
    sources.push_back(Kept(table, table_how));
    if (table_how.default_row.defined())
      defaults.push_back(DefaultRowOf(sources.back(), table_how.default_row));
  }
  QuantizeOptions options = how.options;
  if (options.nan == NanPolicy::kError) {
    std::vector<RowSource> all = sources;
    all.insert(all.end(), defaults.begin(), defaults.end());
    CheckNoNan(ctx, all);
    options.nan = NanPolicy::kChecked;
  }
  QuantizedTables result;
  for (size_t t = 0; t < tables.size(); ++t) {
    const TableQuantization& table_how = HowOf(how, tables[t].name);
    QuantizedTable table;
    table.name = tables[t].name;
    table.num_embeddings = sources[t].rows;
    table.embedding_dim = sources[t].dim;
    table.feature_names = tables[t].feature_names;
    table.pooling = tables[t].pooling;
    table.codec = table_how.codec;
    table.index_remap = table_how.index_remap ? table_how.index_remap : tables[t].index_remap;
    result.errors.push_back(StoreRows(ctx, sources[t], table_how, options, table));
    result.tables.push_back(std::move(table));
  }
  return result;
}

EmbeddingBagCollection Quantize(Context& ctx, const tessera::EmbeddingBagCollection& collection,
                                const TablesQuantization& how, QuantizedOptions options) {
  const std::vector<FloatTable> tables = FloatTablesOf(collection.tables());
  options.weighted = options.weighted || collection.tables().options().weighted;
  return EmbeddingBagCollection(ctx, QuantizeTables(ctx, tables, how).tables, options);
}

EmbeddingCollection Quantize(Context& ctx, const tessera::EmbeddingCollection& collection,
                             const TablesQuantization& how, EmbeddingCollectionOptions options) {
  const std::vector<FloatTable> tables = FloatTablesOf(collection.tables());
  return EmbeddingCollection(ctx, QuantizeTables(ctx, tables, how).tables, options);
}

}  // namespace tessera::quant
