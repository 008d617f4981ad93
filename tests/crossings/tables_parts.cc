#include "tests/crossings/tables_parts.h"

#include <numeric>

#include "embedding/quantized/quantize_tables.h"

namespace tessera::testing {
namespace {

Tensor RowsOf(Context& ctx, TableBatchedEmbedding& tables, int index, int part) {
  std::vector<int64_t> ids(static_cast<size_t>(tables.rows().in_use(index)));
  std::iota(ids.begin(), ids.end(), int64_t{0});
  return tables.rows().Take(ctx, index, part, Tensor::From(ctx, ids)).ToHost();
}

// Writes rows from `begin` on to a tensor that grows to the end of its parts.
void PutRows(const std::string& name, int64_t begin, const Tensor& rows,
             std::map<std::string, Tensor>& to) {
  Context host({.threads = 1});
  Tensor& whole = to[name];
  const int64_t end = begin + rows.dim(0);
  if (!whole || whole.dim(0) < end) {
    Shape shape = rows.shape();
    shape[0] = end;
    const Tensor longer = Tensor::Zeros(host, shape, rows.dtype());
    if (whole) longer.Rows(0, whole.dim(0)).CopyFrom(host, whole);
    whole = longer;
  }
  whole.Rows(begin, end).CopyFrom(host, rows);
}

void PutNumber(const std::string& name, double number, std::map<std::string, Tensor>& to) {
  Context host({.threads = 1});
  const Tensor value = Tensor::From(host, std::vector<double>{number});
  const auto [at, added] = to.emplace(name, value);
  TESSERA_CHECK(added || SameBits(at->second, value), "{}: parts of one table have {} and {}", name,
                at->second.data<double>()[0], number);
}

}  // namespace

DType OutputTypeOf(const TablesCase& c) {
  if (c.point().Is("output", "f16")) return DType::kF16;
  return c.point().Is("output", "bf16") ? DType::kBF16 : DType::kF32;
}

void PutPart(Context& ctx, TableBatchedEmbedding& tables, int index, const PartPlace& place,
             std::map<std::string, Tensor>& to) {
  tables.caches().Flush(ctx);
  const std::string name = Format("{}/{}", place.table, place.shard.column_offset);
  for (int part = 0; part < tables.rows().num_parts(index); ++part) {
    const std::string of = tables.rows().part(index, part).name;
    PutRows(part == 0 ? name : name + "." + of, place.shard.row_offset,
            RowsOf(ctx, tables, index, part), to);
  }
  PutNumber(name + " iter", static_cast<double>(tables.iter(index)), to);
}

void PutQuantized(Context& ctx, const TablesCase& c, const TableBatchedEmbedding& tables,
                  const KeyedJaggedTensor& rows, std::map<std::string, Tensor>& to) {
  const std::vector<QuantizedTable> stored =
      quant::QuantizeTables(ctx, quant::FloatTablesOf(tables)).tables;
  if (c.pooled()) {
    const quant::EmbeddingBagCollection collection(
        ctx, stored, {.weighted = c.weighted(), .bounds_check = c.bounds()});
    to["quantized output 0"] = collection.Forward(ctx, rows).values().value().ToHost();
    return;
  }
  const quant::EmbeddingCollection collection(ctx, stored, {.bounds_check = c.bounds()});
  int output = 0;
  for (const auto& [name, sequence] : collection.Forward(ctx, rows))
    to[Format("quantized output {}", output++)] = sequence.values().value().ToHost();
}

}  // namespace tessera::testing
