#include "runtime/ops/norm.h"

#include "runtime/ops/activation.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/ops/gemm.h"
#include "runtime/ops/kernels/norm_formulas.h"
#include "runtime/ops/kernels/row_lanes.h"
#include "runtime/ops/linear.h"
#include "runtime/ops/norm_impl.h"
#include "runtime/ops/shaping.h"

namespace tessera {
namespace {

class LayerNormFunction final : public Function {
 public:
  LayerNormFunction(Tensor x, Tensor weight, Tensor mean, Tensor rstd)
      : x_(std::move(x)),
        weight_(std::move(weight)),
        mean_(std::move(mean)),
        rstd_(std::move(rstd)) {}
  std::string_view name() const override { return "LayerNorm"; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor dy = grads[0].Contiguous(ctx);
    const int64_t dim = weight_.dim(0), rows = mean_.dim(0),
                  pieces = (rows + internal::kRowsOfAPiece - 1) / internal::kRowsOfAPiece;
    const Tensor dx = needs_grad(0) ? Tensor::Empty(ctx, x_.shape()) : Tensor();
    const Tensor partial = Tensor::Empty(ctx, {pieces, 2 * dim});
    float* sums = partial.data<float>();
    const internal::LayerNormGradArgs args = {x_.data<float>(),
                                              weight_.data<float>(),
                                              mean_.data<float>(),
                                              rstd_.data<float>(),
                                              dy.data<float>(),
                                              dx ? dx.data<float>() : nullptr,
                                              sums,
                                              pieces == 0 ? sums : sums + dim,
                                              rows,
                                              dim};
    DispatchDevice(ctx.device(), [&](auto on) { internal::LayerNormBackward(on, ctx, args); });
    // The sums of pieces are kept, since a chunk of pieces may have more rows than a micro-batch.
    const auto keep = [&](const Tensor& so_far) {
      return so_far ? Concat(ctx, {so_far, partial}, 0).value() : partial;
    };
    const auto add_up = [&](const Tensor& kept) { return internal::ColumnSums(ctx, kept); };
    const Tensor total = SumOverExamples(needs_grad(1) ? 1 : 2, keep, add_up);
    if (!total) return {dx, {}, {}};
    return {dx, total.Narrow(0, 0, dim), total.Narrow(0, dim, dim)};
  }

 private:
  Tensor x_, weight_, mean_, rstd_;
};

class NormalizeRowsFunction final : public Function {
 public:
  NormalizeRowsFunction(Tensor x, float eps) : x_(std::move(x)), eps_(eps) {}
  std::string_view name() const override { return "NormalizeRows"; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor dy = grads[0].Contiguous(ctx);
    Tensor dx = Tensor::Empty(ctx, x_.shape());
    internal::Rowwise(ctx, x_.dim(0),
                      internal::NormalizeGradRow{x_.data<float>(), dy.data<float>(),
                                                 dx.data<float>(), x_.dim(1), eps_});
    return {dx};
  }

 private:
  Tensor x_;
  float eps_;
};

}  // namespace

Variable LayerNorm(Context& ctx, const Variable& x, const Variable& weight, const Variable& bias,
                   float eps) {
  if (!x) throw Error("LayerNorm: the input is undefined");
  TESSERA_CHECK(x.rank() >= 1 && x.dim(-1) > 0, "LayerNorm of a tensor {}", x.value().shape());
  TESSERA_CHECK(eps >= 0, "LayerNorm: eps {}; expected a number of 0 or more", eps);
  CheckDevice(ctx, "LayerNorm", x.value(), weight.value(), bias.value());
  const int64_t dim = x.dim(-1), rows = x.value().numel() / dim;
  TESSERA_CHECK(weight && bias, "LayerNorm: weight or bias is undefined");
  TESSERA_CHECK_EQ(weight.shape(), (Shape{dim}), "LayerNorm: weight");
  TESSERA_CHECK_EQ(bias.shape(), (Shape{dim}), "LayerNorm: bias");
  const Tensor in = x.value().Contiguous(ctx), w = weight.value().Contiguous(ctx),
               b = bias.value().Contiguous(ctx);
  Tensor y = Tensor::Empty(ctx, in.shape()), mean = Tensor::Empty(ctx, {rows}),
         rstd = Tensor::Empty(ctx, {rows});
  const internal::LayerNormArgs args = {in.data<float>(),
                                        w.data<float>(),
                                        b.data<float>(),
                                        y.data<float>(),
                                        mean.data<float>(),
                                        rstd.data<float>(),
                                        rows,
                                        dim,
                                        eps};
  DispatchDevice(ctx.device(), [&](auto on) { internal::LayerNormForward(on, ctx, args); });
  return Record(ctx, std::make_unique<LayerNormFunction>(in, w, mean, rstd), {x, weight, bias}, y);
}

Variable SwishLayerNorm(Context& ctx, const Variable& x, const Variable& weight,
                        const Variable& bias, float eps) {
  return Mul(ctx, x, Sigmoid(ctx, LayerNorm(ctx, x, weight, bias, eps)));
}

Variable NormalizeRows(Context& ctx, const Variable& x, float eps) {
  CheckDevice(ctx, "NormalizeRows", x.value());
  const Tensor in = internal::AsMatrix(ctx, x, "NormalizeRows: x").Contiguous(ctx);
  TESSERA_CHECK(eps > 0, "NormalizeRows: eps {}", eps);
  Tensor y = Tensor::Empty(ctx, in.shape());
  internal::Rowwise(ctx, in.dim(0),
                    internal::NormalizeRow{in.data<float>(), y.data<float>(), in.dim(1), eps});
  return Record(ctx, std::make_unique<NormalizeRowsFunction>(in, eps), {x}, y);
}

}  // namespace tessera
