#include "embedding/lookup/row_access.h"

#include <algorithm>
#include <numeric>

#include "embedding/lookup/index_array.h"
#include "embedding/lookup/row_access_impl.h"
#include "runtime/device/dispatch.h"
#include "runtime/elementwise.h"
#include "sparse/ops/row_runs.h"

namespace tessera {
namespace internal {
namespace {

RowArray CheckedRows(Context& ctx, const Tensor& table) {
  CheckDevice(ctx, "row access", table);
  TESSERA_CHECK(table.rank() == 1 || table.rank() == 2, "row access: a table of shape {}",
                table.shape());
  TESSERA_CHECK(
      table.dtype() == DType::kF32 || table.dtype() == DType::kF16 || table.dtype() == DType::kBF16,
      "row access: rows of type {}; expected f32, f16 or bf16", table.dtype());
  TESSERA_CHECK(table.is_contiguous(), "row access: rows of a table {} that lie apart",
                table.shape());
  return {table.raw_data(), table.dtype(), table.rank() == 2 ? table.dim(1) : 1};
}

Shape ShapeOf(const Tensor& table, int64_t rows) {
  return table.rank() == 2 ? Shape{rows, table.dim(1)} : Shape{rows};
}

SortedIds CheckedAndSorted(Context& ctx, const Tensor& given, int64_t rows) {
  CheckRowIdsSync(ctx, "row access", given, rows);
  const Tensor ids = given.Contiguous(ctx);
  return DispatchDevice(ctx.device(),
                        [&](auto on) { return SortIds(on, ctx, ArrayOf(ids), ids.numel(), rows); });
}

// rows: [n, D] or [n], or undefined.
void Scatter(Context& ctx, const Tensor& table, const Tensor& ids, const Tensor& rows,
             float value) {
  const RowArray array = CheckedRows(ctx, table);
  const SortedIds sorted = CheckedAndSorted(ctx, ids, table.dim(0));
  const int64_t n = ids.numel();
  Elementwise(ctx, n * array.dim,
              ScatterElement{array, sorted.ids, sorted.places, n,
                             rows ? rows.data<float>() : nullptr, value});
}

template <typename Unit>
void ScatterUnits(Context& ctx, const Tensor& table, const SortedIds& sorted, const Tensor& rows) {
  const int64_t n = rows.dim(0), units = RowBytes(table) / static_cast<int64_t>(sizeof(Unit));
  Elementwise(ctx, n * units,
              ScatterUnit<Unit>{static_cast<Unit*>(table.raw_data()), units, sorted.ids,
                                sorted.places, n, static_cast<const Unit*>(rows.raw_data())});
}

}  // namespace

SortedIds SortIds(OnCpu, Context&, IndexArray ids, int64_t n, int64_t) {
  SortedIds sorted;
  sorted.memory[0] = Tensor::EmptyHost({n}, DType::kI64);
  sorted.memory[1] = Tensor::EmptyHost({n}, DType::kI32);
  auto* places = static_cast<uint32_t*>(sorted.memory[1].raw_data());
  std::iota(places, places + n, uint32_t{0});
  std::stable_sort(places, places + n, [&](uint32_t a, uint32_t b) { return ids[a] < ids[b]; });
  auto* keys = static_cast<uint64_t*>(sorted.memory[0].raw_data());
  for (int64_t k = 0; k < n; ++k) keys[k] = static_cast<uint64_t>(ids[places[k]]);
  sorted.ids = keys;
  sorted.places = places;
  return sorted;
}

int64_t FirstBadId(OnCpu, Context&, IndexArray ids, int64_t n, int64_t rows) {
  int64_t i = 0;
  while (i < n && IsRow(ids[i], rows)) ++i;
  return i;
}

}  // namespace internal

void CheckRowIdsSync(Context& ctx, const std::string& what, const Tensor& given, int64_t rows) {
  CheckDevice(ctx, "row access", given);
  TESSERA_CHECK_EQ(given.rank(), 1, "{}: rank of the ids", what);
  VisitIndexType(given.dtype(), "ids of rows", [&]<typename Id>() {
    const Tensor ids = given.Contiguous(ctx);
    const int64_t n = ids.numel();
    TESSERA_CHECK(n < int64_t{1} << 32, "{}: {} ids; expected fewer than 2^32", what, n);
    const int64_t bad = DispatchDevice(ctx.device(), [&](auto on) {
      return internal::FirstBadId(on, ctx, ArrayOf(ids), n, rows);
    });
    TESSERA_CHECK(bad == n, "{}: id {} at position {}, but there are {} rows", what,
                  ReadScalarSync(ctx, ids.data<Id>() + bad), bad, rows);
  });
}

Tensor ReadRows(Context& ctx, const Tensor& table, const Tensor& ids) {
  const internal::RowArray array = internal::CheckedRows(ctx, table);
  CheckRowIdsSync(ctx, "ReadRows", ids, table.dim(0));
  const Tensor contiguous = ids.Contiguous(ctx);
  Tensor rows = Tensor::Empty(ctx, internal::ShapeOf(table, ids.numel()));
  internal::Elementwise(ctx, rows.numel(),
                        internal::GatherElement{array, ArrayOf(contiguous), rows.data<float>()});
  return rows;
}

void WriteRows(Context& ctx, const Tensor& table, const Tensor& ids, const Tensor& rows) {
  CheckDevice(ctx, "WriteRows", rows);
  TESSERA_CHECK_EQ(rows.dtype(), DType::kF32, "WriteRows: rows");
  TESSERA_CHECK_EQ(rows.shape(), internal::ShapeOf(table, ids.numel()), "WriteRows: rows");
  internal::Scatter(ctx, table, ids, rows.Contiguous(ctx), 0);
}

void PutRows(Context& ctx, const Tensor& table, const Tensor& ids, const Tensor& given) {
  CheckDevice(ctx, "PutRows", table, given);
  TESSERA_CHECK(table.is_contiguous(), "PutRows: rows of a table {} that lie apart", table.shape());
  TESSERA_CHECK_EQ(given.dtype(), table.dtype(), "PutRows: rows");
  TESSERA_CHECK_EQ(given.shape(), internal::WithRows(table, ids.numel()), "PutRows: rows");
  const internal::SortedIds sorted = internal::CheckedAndSorted(ctx, ids, table.dim(0));
  const Tensor rows = given.Contiguous(ctx);
  if (internal::RowBytes(table) % 4 == 0)
    internal::ScatterUnits<uint32_t>(ctx, table, sorted, rows);
  else
    internal::ScatterUnits<uint8_t>(ctx, table, sorted, rows);
}

void FillRows(Context& ctx, const Tensor& table, const Tensor& ids, float value) {
  internal::Scatter(ctx, table, ids, {}, value);
}

}  // namespace tessera
