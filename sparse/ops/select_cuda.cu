#include "runtime/algorithms.h"
#include "runtime/launch.cuh"
#include "runtime/tensor.h"
#include "sparse/ops/select_impl.h"

namespace tessera::internal {
namespace {

struct BagOfKey {
  const int64_t* indices;
  int64_t count, batch;
  int64_t* bags;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t index = indices[i % count];
    bags[i] = index >= 0 && index < batch ? i / count * batch + index : -1;
  }
};

struct KeptOfSegment {
  const int64_t *offsets, *kept_before;
  int64_t* lengths;
  TESSERA_HD void operator()(int64_t s) const {
    lengths[s] = kept_before[offsets[s + 1]] - kept_before[offsets[s]];
  }
};

// Makes row i a segment of its own, and a pick if it is kept.
struct PlaceRow {
  const int64_t* kept_before;
  int64_t rows;
  int64_t *offsets, *picks;
  TESSERA_HD void operator()(int64_t i) const {
    offsets[i] = i;
    if (i < rows && kept_before[i] < kept_before[i + 1]) picks[kept_before[i]] = i;
  }
};

}  // namespace

Tensor BagsOfKeys(OnCuda, Context& ctx, const Tensor& indices, int64_t keys, int64_t batch) {
  const int64_t count = indices.dim(0);
  Tensor bags = Tensor::Empty(ctx, {keys * count}, DType::kI64);
  ForEach(ctx, keys * count, BagOfKey{indices.data<int64_t>(), count, batch, bags.data<int64_t>()});
  return bags;
}

Masked SelectMasked(OnCuda, Context& ctx, const Segments& segments, const Tensor& mask,
                    DType dtype) {
  const int64_t rows = segments.rows;
  const Tensor flags = mask.To(ctx, DType::kI64),
               before = Tensor::Zeros(ctx, {rows + 1}, DType::kI64);
  InclusiveSum(ctx, flags.data<int64_t>(), before.data<int64_t>() + 1, rows);
  const Tensor lengths = Tensor::Empty(ctx, {segments.count()}, DType::kI64);
  ForEach(ctx, segments.count(),
          KeptOfSegment{segments.offsets.data<int64_t>(), before.data<int64_t>(),
                        lengths.data<int64_t>()});
  const int64_t kept = ReadScalarSync(ctx, before.data<int64_t>() + rows);
  const Tensor offsets = Tensor::Empty(ctx, {rows + 1}, DType::kI64),
               picks = Tensor::Empty(ctx, {kept}, DType::kI64);
  ForEach(ctx, rows + 1,
          PlaceRow{before.data<int64_t>(), rows, offsets.data<int64_t>(), picks.data<int64_t>()});
  return {std::make_shared<const SegmentSelection>(ctx, offsets, rows, rows, picks, kept),
          lengths.To(ctx, dtype)};
}

Halves CutSegments(OnCuda, Context& ctx, const Segments& segments, int64_t longest) {
  const int64_t n = segments.count();
  Halves halves{Tensor::Zeros(ctx, {2 * n + 1}, DType::kI64), Tensor::Empty(ctx, {n}, DType::kI64)};
  ForEach(ctx, n,
          CutSegment{segments.offsets.data<int64_t>(), longest, halves.offsets.data<int64_t>(),
                     halves.heads.data<int64_t>()});
  return halves;
}

Halves CutWindows(OnCuda, Context& ctx, const Segments& segments, const Tensor& start,
                  int64_t longest) {
  const int64_t n = segments.count();
  Halves windows{Tensor::Zeros(ctx, {3 * n + 1}, DType::kI64),
                 Tensor::Empty(ctx, {n}, DType::kI64)};
  ForEach(ctx, n,
          CutWindow{segments.offsets.data<int64_t>(), start.data<int64_t>(), longest,
                    windows.offsets.data<int64_t>(), windows.heads.data<int64_t>()});
  return windows;
}

}  // namespace tessera::internal
