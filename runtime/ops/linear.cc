#include "runtime/ops/linear.h"

#include "runtime/device/dispatch.h"
#include "runtime/elementwise.h"
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
    const auto dweight = [&](const Tensor& so_far) { return GemmOverBatch(ctx, dz, x_, so_far); };
    const auto dbias = [&](const Tensor& so_far) { return internal::ColumnSums(ctx, dz, so_far); };
    return {dx, SumOverExamples(1, dweight), SumOverExamples(2, dbias)};
  }

 private:
  Tensor x_, weight_, y_;
};

class AddBiasFunction final : public Function {
 public:
  std::string_view name() const override { return "AddBias"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const auto dbias = [&](const Tensor& so_far) {
      return internal::ColumnSums(ctx, grads[0].Contiguous(ctx), so_far);
    };
    return {grads[0], SumOverExamples(1, dbias)};
  }
};

Variable RunLinear(Context& ctx, const Variable& x, const Variable& weight, const Variable& bias,
                   bool relu) {
  CheckDevice(ctx, "Linear", x.value(), weight.value(), bias.value());
  const Tensor xm = internal::AsMatrix(ctx, x, "Linear: x"),
               wm = internal::AsMatrix(ctx, weight, "Linear: weight");
  TESSERA_CHECK_EQ(xm.dim(1), wm.dim(1), "Linear: columns of x {} for the weight {}", x.shape(),
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

Variable AddBias(Context& ctx, const Variable& x, const Variable& bias) {
  CheckDevice(ctx, "AddBias", x.value(), bias.value());
  const Tensor in = internal::AsMatrix(ctx, x, "AddBias: x").Contiguous(ctx);
  TESSERA_CHECK_EQ(bias.shape(), (Shape{in.dim(1)}), "AddBias: bias for {}", x.shape());
  const Tensor row = bias.value().Contiguous(ctx);
  Tensor y = Tensor::Empty(ctx, in.shape());
  internal::Elementwise(
      ctx, y.numel(),
      internal::AddRowItems{in.data<float>(), row.data<float>(), y.data<float>(), in.dim(1)});
  return Record(ctx, std::make_unique<AddBiasFunction>(), {x, bias}, std::move(y));
}

namespace internal {

Tensor ColumnSums(Context& ctx, const Tensor& x, const Tensor& so_far) {
  const Tensor sums = so_far ? so_far : Tensor::Zeros(ctx, {x.dim(1)});
  DispatchDevice(ctx.device(), [&](auto on) { ColumnSums(on, ctx, x, sums); });
  return sums;
}

}  // namespace internal
}  // namespace tessera
