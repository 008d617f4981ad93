#include "runtime/ops/gemm_impl.h"
#include "runtime/ops/linear_impl.h"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

constexpr int64_t kMaskedRows = 64;

void MaskRows(const LinearInputGradient& g, int64_t begin, int64_t end) {
  const int64_t n = g.dy.dim(1), stride = g.dy.row_stride();
  for (int64_t r = begin; r < end; ++r)
    ChosenElementwise().relu.backward(g.y.data<float>() + r * n, g.dy.data<float>() + r * stride,
                                      g.dz.data<float>() + r * n, n);
}

}  // namespace

void BackpropToInput(OnCpu, Context& ctx, const LinearInputGradient& g) {
  if (g.y)
    ParallelFor(ctx, g.dy.dim(0), kMaskedRows,
                [&](int64_t begin, int64_t end) { MaskRows(g, begin, end); });
  if (g.dx) RunGemm(OnCpu(), ctx, MakeProblem(GemmForm::kNN, g.dz, g.weight, g.dx));
}

void ColumnSums(OnCpu, Context& ctx, const Tensor& x, const Tensor& sums) {
  const int64_t stride = x.row_stride();
  ParallelFor(ctx, x.dim(1), kSumColumns, [&](int64_t begin, int64_t end) {
    ChosenElementwise().column_sums(x.data<float>() + begin, stride, x.dim(0), end - begin,
                                    sums.data<float>() + begin);
  });
}

}  // namespace tessera::internal
