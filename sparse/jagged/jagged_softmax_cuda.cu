// A warp a column of a bag. Columns of a bag lie in one block, so that they share lines of memory.
#include "runtime/tensor.h"
#include "sparse/jagged/jagged_softmax_impl.h"
#include "sparse/ops/warp.cuh"

namespace tessera::internal {
namespace {

constexpr unsigned kThreads = 256;

struct Columns {
  const int64_t* offsets;
  int64_t count, width;

  Columns(const Segments& segments, const Tensor& x)
      : offsets(segments.offsets.data<int64_t>()),
        count(segments.count() * x.dim(1)),
        width(x.dim(1)) {}
};

// This warp's column: n numbers, `width` apart, from `first` on.
struct Column {
  int64_t first, n;

  __device__ Column(const Columns& columns, int64_t warp) {
    const int64_t bag = warp / columns.width, begin = columns.offsets[bag];
    first = begin * columns.width + (warp - bag * columns.width);
    n = columns.offsets[bag + 1] - begin;
  }
};

__global__ void __launch_bounds__(kThreads)
    SoftmaxKernel(Columns columns, const float* x, float* y) {
  if (GlobalWarp() >= columns.count) return;
  const Column c(columns, GlobalWarp());
  const int64_t step = columns.width;
  float largest = -INFINITY, sum = 0;
  for (int64_t i = Lane(); i < c.n; i += kLanes) largest = fmaxf(largest, x[c.first + i * step]);
  largest = LargestOfWarp(largest);
  for (int64_t i = Lane(); i < c.n; i += kLanes)
    sum += y[c.first + i * step] = FloatExp(x[c.first + i * step] - largest);
  sum = FoldWarp(sum);
  for (int64_t i = Lane(); i < c.n; i += kLanes) y[c.first + i * step] /= sum;
}

__global__ void __launch_bounds__(kThreads)
    SoftmaxBackKernel(Columns columns, const float* y, const float* g, float* gx) {
  if (GlobalWarp() >= columns.count) return;
  const Column c(columns, GlobalWarp());
  const int64_t step = columns.width;
  float dot = 0;
  for (int64_t i = Lane(); i < c.n; i += kLanes)
    dot += g[c.first + i * step] * y[c.first + i * step];
  dot = FoldWarp(dot);
  for (int64_t i = Lane(); i < c.n; i += kLanes)
    gx[c.first + i * step] = y[c.first + i * step] * (g[c.first + i * step] - dot);
}

}  // namespace

void Softmax(OnCuda, Context& ctx, const Segments& segments, const Tensor& x, const Tensor& y) {
  const Columns columns(segments, x);
  Launch(ctx, SoftmaxKernel, BlocksOfWarps(columns.count, kThreads), kThreads, 0, columns,
         x.data<float>(), y.data<float>());
}

void SoftmaxBack(OnCuda, Context& ctx, const Segments& segments, const Tensor& y, const Tensor& g,
                 const Tensor& gx) {
  const Columns columns(segments, y);
  Launch(ctx, SoftmaxBackKernel, BlocksOfWarps(columns.count, kThreads), kThreads, 0, columns,
         y.data<float>(), g.data<float>(), gx.data<float>());
}

}  // namespace tessera::internal
