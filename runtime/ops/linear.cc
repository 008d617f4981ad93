#include "runtime/ops/linear.h"

#include <algorithm>

#include "runtime/ops/gemm.h"
#include "runtime/ops/kernels.h"

namespace tessera {
namespace {

class LinearFunction final : public Function {
 public:
  // `y` is kept for the mask of relu; undefined without.
  LinearFunction(Tensor x, Tensor weight, Tensor y)
      : x_(std::move(x)), weight_(std::move(weight)), y_(std::move(y)) {}
  std::string_view name() const override { return y_ ? "LinearRelu" : "Linear"; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor dy = internal::AsMatrix(ctx, grads[0], "gradient of Linear");
    const Tensor dz = y_ ? Tensor::Empty(ctx, dy.shape()) : dy;
    const Tensor dx = needs_grad(0) ? Tensor::Empty(ctx, x_.shape()) : Tensor();
    ParallelFor(ctx, dy.dim(0), kGemmBlockRows, [&](int64_t begin, int64_t end) {
      if (y_) MaskRows(dy, dz, begin, end);
      if (dx) internal::GemmRows(GemmForm::kNN, dz, weight_, dx, begin, end);
    });
    return {dx, needs_grad(1) ? Gemm(ctx, GemmForm::kTN, dz, x_) : Tensor(),
            needs_grad(2) ? internal::ColumnSums(ctx, dz) : Tensor()};
  }

 private:
  void MaskRows(const Tensor& dy, const Tensor& dz, int64_t begin, int64_t end) const {
    const int64_t n = dy.dim(1), stride = dy.row_stride();
    for (int64_t r = begin; r < end; ++r)
      internal::BestElementwise().relu.backward(
          y_.data<float>() + r * n, dy.data<float>() + r * stride, dz.data<float>() + r * n, n);
  }

  Tensor x_, weight_, y_;
};

Variable RunLinear(Context& ctx, const Variable& x, const Variable& weight, const Variable& bias,
                   bool relu) {
  const Tensor xm = internal::AsMatrix(ctx, x, "Linear: x"),
               wm = internal::AsMatrix(ctx, weight, "Linear: weight");
  TESSERA_CHECK_EQ(xm.dim(1), wm.dim(1), "Linear: columns of x {} and of the weight {}", x.shape(),
                   weight.shape());
  if (bias) {
    TESSERA_CHECK(bias.value().dtype() == DType::kF32, "Linear: bias: expected f32, got {}",
                  bias.value().dtype());
    TESSERA_CHECK_EQ(bias.shape(), (Shape{wm.dim(0)}), "Linear: bias for a weight {}",
                     weight.shape());
  }
  const Tensor b = bias.value().defined() ? bias.value().Contiguous(ctx) : Tensor();
  const float* pb = b ? b.data<float>() : nullptr;
  const int64_t n = wm.dim(0);
  Tensor y = Tensor::Empty(ctx, {xm.dim(0), n});
  ParallelFor(ctx, xm.dim(0), kGemmBlockRows, [&](int64_t begin, int64_t end) {
    internal::GemmRows(GemmForm::kNT, xm, wm, y, begin, end);
    internal::BestElementwise().add_bias(y.data<float>() + begin * n, n, end - begin, n, pb, relu);
  });
  return Record(ctx, std::make_unique<LinearFunction>(xm, wm, relu ? y : Tensor()),
                {x, weight, bias}, y);
}

}  // namespace

Variable Linear(Context& ctx, const Variable& x, const Variable& weight, const Variable& bias) {
  return RunLinear(ctx, x, weight, bias, /*relu=*/false);
}

Variable LinearRelu(Context& ctx, const Variable& x, const Variable& weight, const Variable& bias) {
  return RunLinear(ctx, x, weight, bias, /*relu=*/true);
}

namespace internal {

Tensor ColumnSums(Context& ctx, const Tensor& x) {
  Tensor sums = Tensor::Empty(ctx, {x.dim(1)});
  const int64_t stride = x.row_stride();
  ParallelFor(ctx, x.dim(1), kSumColumns, [&](int64_t begin, int64_t end) {
    BestElementwise().column_sums(x.data<float>() + begin, stride, x.dim(0), end - begin,
                                  sums.data<float>() + begin);
  });
  return sums;
}

}  // namespace internal
}  // namespace tessera
