#include "runtime/accumulation.h"
#include "runtime/ops/gemm_impl.h"
#include "runtime/ops/linear_impl.h"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

void MaskRows(const LinearInputGradient& g, int64_t begin, int64_t end) {
  const int64_t n = g.dy.dim(1), stride = g.dy.row_stride();
  for (int64_t r = begin; r < end; ++r)
    BestElementwise().relu.backward(g.y.data<float>() + r * n, g.dy.data<float>() + r * stride,
                                    g.dz.data<float>() + r * n, n);
}

}  // namespace

void BackpropToInput(OnCpu, Context& ctx, const LinearInputGradient& g) {
  ParallelFor(ctx, g.dy.dim(0), GemmBlockRows(ItemsOfStep(ctx, g.dy.dim(0))),
              [&](int64_t begin, int64_t end) {
                if (g.y) MaskRows(g, begin, end);
                if (g.dx) RunGemmRows(MakeProblem(GemmForm::kNN, g.dz, g.weight, g.dx), begin, end);
              });
}

void ColumnSums(OnCpu, Context& ctx, const Tensor& x, const Tensor& sums) {
  const int64_t stride = x.row_stride();
  ParallelFor(ctx, x.dim(1), kSumColumns, [&](int64_t begin, int64_t end) {
    BestElementwise().column_sums(x.data<float>() + begin, stride, x.dim(0), end - begin,
                                  sums.data<float>() + begin);
  });
}

}  // namespace tessera::internal
