#include "runtime/ops/linear.h"

#include "runtime/dispatch.h"
#include "runtime/ops/gemm_impl.h"
#include "runtime/ops/linear_impl.h"

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
    DispatchDevice(ctx.device(), [&](auto on) {
      internal::BackpropToInput(on, ctx, {dy, y_, dz, weight_, dx});
    });
    return {dx, needs_grad(1) ? Gemm(ctx, GemmForm::kTN, dz, x_) : Tensor(),
            needs_grad(2) ? internal::ColumnSums(ctx, dz) : Tensor()};
  }

 private:
  Tensor x_, weight_, y_;
};

Variable RunLinear(Context& ctx, const Variable& x, const Variable& weight, const Variable& bias,
                   bool relu) {
  CheckDevice(ctx, "Linear", x.value(), weight.value(), bias.value());
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
  Tensor y = Tensor::Empty(ctx, {xm.dim(0), wm.dim(0)});
  internal::GemmProblem problem = internal::MakeProblem(GemmForm::kNT, xm, wm, y);
  problem.bias = b ? b.data<float>() : nullptr;
  problem.relu = relu;
  DispatchDevice(ctx.device(), [&](auto on) { internal::RunGemm(on, ctx, problem); });
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
  DispatchDevice(ctx.device(), [&](auto on) { ColumnSums(on, ctx, x, sums); });
  return sums;
}

}  // namespace internal
}  // namespace tessera
