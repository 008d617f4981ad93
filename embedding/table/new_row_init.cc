#include "embedding/table/new_row_init.h"

#include <algorithm>

#include "embedding/lookup/row_access.h"
#include "embedding/table/row_init_impl.h"
#include "runtime/device/dispatch.h"
#include "runtime/elementwise.h"

namespace tessera::internal {
namespace {

// For the rows of these ids, each `begin` further on; without data for begin, begin + 1, …
StartBlock StartOf(const BaseEmbeddingConfig& config, const Tensor& weight, IndexArray ids,
                   int64_t begin, uint64_t seed, int64_t step) {
  const auto [low, high] = InitRange(config);
  return {.rows = weight.raw_data(),
          .type = weight.dtype(),
          .dim = weight.dim(1),
          .ids = ids,
          .begin = begin,
          .first_row = config.place.first_row,
          .first_column = config.place.first_column,
          .low = low,
          .high = high,
          .seed = seed,
          .step = step};
}

void StartUniform(Context& ctx, const BaseEmbeddingConfig& config, const Tensor& weight,
                  const RowSelection& rows, uint64_t seed, int64_t step) {
  const Tensor ids = rows.ids.Contiguous(ctx);
  const IndexArray array = {ids.defined() ? ids.raw_data() : nullptr,
                            ids.defined() && ids.dtype() == DType::kI64};
  const StartBlock start =
      StartOf(config, weight, array, ids.defined() ? 0 : rows.begin, seed, step);
  Elementwise(ctx, rows.size() * start.blocks(), start, /*grain=*/1 << 10);
}

// Fills one row at a time, so that its values do not depend on the other new rows.
void StartByFunction(Context& ctx, const BaseEmbeddingConfig& config, const Tensor& weight,
                     const RowSelection& rows, uint64_t seed, int64_t step) {
  constexpr int64_t kRowsAtOnce = 1 << 14;
  const std::vector<int64_t> ids =
      rows.ids ? rows.ids.To(ctx, DType::kI64).ToVector<int64_t>() : std::vector<int64_t>();
  const PhiloxBits bits = Philox(seed, static_cast<uint64_t>(step), 0);
  const uint64_t own_seed = uint64_t{bits.v[1]} << 32 | bits.v[0];
  const Random saved = ctx.random();
  for (int64_t first = 0; first < rows.size(); first += kRowsAtOnce) {
    const int64_t n = std::min(kRowsAtOnce, rows.size() - first);
    const Tensor made = Tensor::Empty(ctx, {n, weight.dim(1)});
    std::vector<int64_t> places;
    for (int64_t k = 0; k < n; ++k) {
      places.push_back(rows.ids ? ids[static_cast<size_t>(first + k)] : rows.begin + first + k);
      // Each row has 2^16 sequences of its own, which its init_fn may draw.
      const auto row = static_cast<uint64_t>(config.place.first_row + places.back());
      ctx.random() = Random(own_seed, row << 16);
      config.init_fn(ctx, made.Rows(k, k + 1));
    }
    WriteRows(ctx, weight, Tensor::From(ctx, places), made);
  }
  ctx.random() = saved;
}

}  // namespace

void InitNewRows(Context& ctx, const BaseEmbeddingConfig& config, const Tensor& weight,
                 const RowSelection& rows, uint64_t seed, int64_t step) {
  if (rows.size() == 0) return;
  const auto start = config.init_fn ? StartByFunction : StartUniform;
  start(ctx, config, weight, rows, seed, step);
}

void StartCountedRows(Context& ctx, const BaseEmbeddingConfig& config,
                      const std::vector<Tensor>& parts, const RowsToStart& rows, uint64_t seed,
                      int64_t step) {
  const CountedRows counted = {rows.count, rows.rows.numel()};
  const auto* ids = rows.rows.data<int64_t>();
  OnlyOnCuda(ctx.device(), [&](auto on) {
    StartCounted(on, ctx, counted,
                 StartOf(config, parts[0], {ids, true}, rows.first_row, seed, step));
    for (size_t p = 1; p < parts.size(); ++p) {
      const Tensor& state = parts[p];
      StartCounted(on, ctx, counted,
                   ClearElement{state.raw_data(), state.dtype(),
                                state.rank() == 2 ? state.dim(1) : 1, ids, rows.first_row});
    }
  });
}

}  // namespace tessera::internal
