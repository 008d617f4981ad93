#include "runtime/launch.cuh"
#include "runtime/ops/gemm_impl.h"
#include "runtime/ops/linear_impl.h"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

// dz of element i; rows of dy are `stride` elements apart.
struct MaskElement {
  const float *y, *dy;
  float* dz;
  int64_t columns, stride;

  TESSERA_HD void operator()(int64_t i) const {
    const int64_t place = stride == columns ? i : i / columns * stride + i % columns;
    dz[i] = dy[place] * ReluFormula::Slope(y[i]);
  }
};

// The sum of one column over one chunk of rows: item i is column i mod columns of chunk i div
// columns.
struct SumChunk {
  const float* x;
  float* sums;  // [chunks, columns]
  int64_t rows, columns, stride;

  TESSERA_HD void operator()(int64_t i) const {
    const int64_t begin = i / columns * kSumChunk;
    const int64_t end = begin + kSumChunk < rows ? begin + kSumChunk : rows;
    const float* p = x + i % columns;
    float sum = 0;
    for (int64_t r = begin; r < end; ++r) sum += p[r * stride];
    sums[i] = sum;
  }
};

struct FoldChunks {
  const float* chunks;
  float* sums;
  int64_t num_chunks, columns;

  TESSERA_HD void operator()(int64_t i) const {
    float sum = sums[i];
    for (int64_t chunk = 0; chunk < num_chunks; ++chunk) sum += chunks[chunk * columns + i];
    sums[i] = sum;
  }
};

}  // namespace

void BackpropToInput(OnCuda on, Context& ctx, const LinearInputGradient& g) {
  if (g.y)
    ForEach(ctx, g.dz.numel(),
            MaskElement{g.y.data<float>(), g.dy.data<float>(), g.dz.data<float>(), g.dy.dim(1),
                        g.dy.row_stride()});
  if (g.dx) RunGemm(on, ctx, MakeProblem(GemmForm::kNN, g.dz, g.weight, g.dx));
}

void ColumnSums(OnCuda, Context& ctx, const Tensor& x, const Tensor& sums) {
  const int64_t columns = x.dim(1), num_chunks = (x.dim(0) + kSumChunk - 1) / kSumChunk;
  const Tensor chunks = Tensor::Empty(ctx, {num_chunks, columns});
  ForEach(ctx, chunks.numel(),
          SumChunk{x.data<float>(), chunks.data<float>(), x.dim(0), columns, x.row_stride()});
  ForEach(ctx, columns, FoldChunks{chunks.data<float>(), sums.data<float>(), num_chunks, columns});
}

}  // namespace tessera::internal
