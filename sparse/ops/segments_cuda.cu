#include "runtime/algorithms.h"
#include "runtime/launch.cuh"
#include "runtime/tensor.h"
#include "sparse/ops/segments_impl.h"
#include "sparse/ops/warp.cuh"

namespace tessera::internal {
namespace {

constexpr unsigned kThreads = 256;

// Sets *found where a length is outside [0, longest].
struct FindBadLength {
  const int64_t* offsets;
  int64_t longest;
  int64_t* found;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t length = offsets[i + 1] - offsets[i];
    if (length < 0 || length > longest) *found = 1;
  }
};

template <typename T>
struct CutOffsets {
  const T* in;
  int64_t* out;
  int64_t rows;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t at = in[i];
    out[i] = at < 0 ? 0 : at > rows ? rows : at;
  }
};

// Offsets [n+1], in the first elements of a tensor of n+1+extra.
Tensor SumLengths(Context& ctx, const Tensor& lengths, int64_t extra) {
  VisitIndexType(lengths.dtype(), "lengths", [&]<typename T>() {});
  const Tensor wide = lengths.To(ctx, DType::kI64);
  const int64_t n = wide.numel();
  Tensor offsets = Tensor::Zeros(ctx, {n + 1 + extra}, DType::kI64);
  InclusiveSum(ctx, wide.data<int64_t>(), offsets.data<int64_t>() + 1, n);
  return offsets;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    SumKernel(const T* values, const int64_t* offsets, int64_t segments, int64_t batch, T* y) {
  const int64_t s = GlobalWarp();
  if (s >= segments) return;
  using Sum = typename SumOf<T>::Type;
  Sum sum = 0;
  for (int64_t i = offsets[s] * batch + Lane(); i < offsets[s + 1] * batch; i += kLanes)
    sum += static_cast<Sum>(values[i]);
  sum = FoldWarp(sum);
  if (Lane() == 0) y[s] = static_cast<T>(sum);
}

}  // namespace

Segments SegmentsOfLengths(OnCuda, Context& ctx, const Tensor& lengths, int64_t longest) {
  const int64_t n = lengths.numel();
  const Tensor all = SumLengths(ctx, lengths, 1);  // and whether a length is bad
  ForEach(ctx, n, FindBadLength{all.data<int64_t>(), longest, all.data<int64_t>() + n + 1});
  const std::vector<int64_t> end = all.Rows(n, n + 2).ToVector<int64_t>();
  if (end[1] != 0) CheckLengths(ToInt64(lengths), longest);
  return {all.Rows(0, n + 1), end[0]};
}

Segments SegmentsOverLengths(OnCuda on, Context& ctx, const Tensor& lengths, int64_t rows,
                             const char* what) {
  return SegmentsOverOffsets(on, ctx, SumLengths(ctx, lengths, 0), rows, what, true);
}

Tensor OffsetsOfRows(OnCuda, Context& ctx, const Tensor& lengths, int64_t) {
  return SumLengths(ctx, lengths, 0);
}

Segments SegmentsOverOffsets(OnCuda, Context& ctx, const Tensor& offsets, int64_t rows,
                             const char* what, bool) {
  const Tensor in = offsets.Contiguous(ctx);
  Tensor cut = Tensor::Empty(ctx, in.shape(), DType::kI64);
  VisitIndexType(in.dtype(), what, [&]<typename T>() {
    ForEach(ctx, in.dim(0), CutOffsets<T>{in.data<T>(), cut.data<int64_t>(), rows});
  });
  return {std::move(cut), rows};
}

void SumSegments(OnCuda, Context& ctx, const Segments& segments, int64_t batch,
                 const Tensor& values, const Tensor& y) {
  VisitDType(values.dtype(), [&]<typename T>() {
    Launch(ctx, SumKernel<T>, BlocksOfWarps(segments.count(), kThreads), kThreads, 0,
           values.data<T>(), segments.offsets.data<int64_t>(), segments.count(), batch,
           y.data<T>());
  });
}

}  // namespace tessera::internal
