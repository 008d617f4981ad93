#include <bit>

#include "runtime/algorithms.h"
#include "runtime/launch.cuh"
#include "runtime/tensor.h"
#include "sparse/batched_unary_embeddings_impl.h"
#include "sparse/ops/search.h"

namespace tessera::internal {
namespace {

struct RowOfId {
  const int64_t *first, *bags;
  int64_t tables, batch;
  const int64_t* ids;
  int64_t* rows;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t bag = SegmentOf(bags, 0, tables * batch - 1, i);
    const int64_t t = batch == 0 ? 0 : bag / batch;
    rows[i] = ids[i] >= 0 && ids[i] < first[t + 1] - first[t] ? first[t] + ids[i] : -1;
  }
};

// Element (n, b, t) of y.
struct SumBag {
  const int64_t *rows, *bags;
  int64_t tables, batch, weights;
  const float* w;
  float* y;
  TESSERA_HD void operator()(int64_t e) const {
    const int64_t nb = e / tables, t = e - nb * tables, n = nb / batch, b = nb - n * batch;
    const int64_t bag = t * batch + b;
    float sum = 0;
    for (int64_t i = bags[bag]; i < bags[bag + 1]; ++i)
      if (rows[i] >= 0) sum += w[n * weights + rows[i]];
    y[e] = sum;
  }
};

// Ids that name no row go behind all others.
struct NumberId {
  const int64_t* rows;
  int64_t weights;
  uint64_t* keys;
  uint32_t* values;
  TESSERA_HD void operator()(int64_t i) const {
    keys[i] = static_cast<uint64_t>(rows[i] >= 0 ? rows[i] : weights);
    values[i] = static_cast<uint32_t>(i);
  }
};

// The gradient of one weight: its ids lie side by side among the sorted ones, in order.
struct SumRow {
  const uint64_t* sorted_rows;
  const uint32_t* ids;
  int64_t count;
  const int64_t* bags;
  int64_t tables, batch, weights;
  const float* g;
  float* gw;
  TESSERA_HD void operator()(int64_t e) const {
    const int64_t n = e / weights;
    const auto row = static_cast<uint64_t>(e - n * weights);
    float sum = 0;
    for (int64_t k = CountBefore(sorted_rows, count, row, /*or_equal=*/false);
         k < count && sorted_rows[k] == row; ++k) {
      const int64_t bag = SegmentOf(bags, 0, tables * batch - 1, ids[k]);
      const int64_t t = bag / batch, b = bag - t * batch;
      sum += g[(n * batch + b) * tables + t];
    }
    gw[e] = sum;
  }
};

}  // namespace

Tensor RowsOfIds(OnCuda, Context& ctx, const Segments& tables, const Segments& bags, int64_t batch,
                 const Tensor& ids) {
  Tensor rows = Tensor::Empty(ctx, ids.shape(), DType::kI64);
  ForEach(ctx, bags.count() > 0 ? ids.dim(0) : 0,
          RowOfId{tables.offsets.data<int64_t>(), bags.offsets.data<int64_t>(), tables.count(),
                  batch, ids.data<int64_t>(), rows.data<int64_t>()});
  return rows;
}

void UnaryForward(OnCuda, Context& ctx, const UnaryRows& rows, const Tensor& w, const Tensor& y) {
  ForEach(ctx, y.numel(),
          SumBag{rows.rows.data<int64_t>(), rows.bags.offsets.data<int64_t>(), rows.tables,
                 rows.batch, rows.weights, w.data<float>(), y.data<float>()});
}

void UnaryBackward(OnCuda, Context& ctx, const UnaryRows& rows, const Tensor& g, const Tensor& gw) {
  const int64_t n = rows.batch > 0 ? rows.rows.dim(0) : 0;
  TESSERA_CHECK(n < int64_t{1} << 32, "{} ids: a device numbers them with 32 bits", n);
  const Tensor keys = Tensor::Empty(ctx, {2 * n}, DType::kI64),
               numbers = Tensor::Empty(ctx, {2 * n}, DType::kI32);
  auto* key = static_cast<uint64_t*>(keys.raw_data());
  auto* number = static_cast<uint32_t*>(numbers.raw_data());
  ForEach(ctx, n, NumberId{rows.rows.data<int64_t>(), rows.weights, key, number});
  const SortedPairs<uint64_t> sorted =
      SortPairs(ctx, key, key + n, number, number + n, n,
                std::bit_width(static_cast<uint64_t>(rows.weights)));
  ForEach(ctx, gw.numel(),
          SumRow{sorted.keys, sorted.values, n, rows.bags.offsets.data<int64_t>(), rows.tables,
                 rows.batch, rows.weights, g.data<float>(), gw.data<float>()});
}

}  // namespace tessera::internal
