#include "runtime/ops/similarity.h"

#include "runtime/elementwise.h"
#include "runtime/ops/gemm.h"
#include "runtime/ops/kernels/row_lanes.h"
#include "runtime/ops/kernels/similarity_formulas.h"
#include "runtime/ops/norm.h"

namespace tessera {
namespace {

// Row r of x times scale[r].
Tensor ScaledRows(Context& ctx, const Tensor& x, const Tensor& scale) {
  Tensor y = Tensor::Empty(ctx, x.shape());
  internal::Elementwise(
      ctx, x.numel(),
      internal::ScaleRowItems{x.data<float>(), scale.data<float>(), y.data<float>(), x.dim(1)});
  return y;
}

// q[r]·c[r].
Tensor DotsOfRows(Context& ctx, const Tensor& q, const Tensor& c) {
  Tensor y = Tensor::Empty(ctx, {q.dim(0)});
  internal::Rowwise(ctx, q.dim(0),
                    internal::DotRow{q.data<float>(), c.data<float>(), y.data<float>(), q.dim(1)});
  return y;
}

class RowDotFunction final : public Function {
 public:
  RowDotFunction(Tensor q, Tensor c) : q_(std::move(q)), c_(std::move(c)) {}
  std::string_view name() const override { return "RowDot"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor dy = grads[0].Contiguous(ctx);
    return {needs_grad(0) ? ScaledRows(ctx, c_, dy) : Tensor(),
            needs_grad(1) ? ScaledRows(ctx, q_, dy) : Tensor()};
  }

 private:
  Tensor q_, c_;
};

class ScaleRowsFunction final : public Function {
 public:
  ScaleRowsFunction(Tensor x, Tensor scale) : x_(std::move(x)), scale_(std::move(scale)) {}
  std::string_view name() const override { return "ScaleRows"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor dy = grads[0].Contiguous(ctx);
    return {needs_grad(0) ? ScaledRows(ctx, dy, scale_) : Tensor(),
            needs_grad(1) ? DotsOfRows(ctx, dy, x_) : Tensor()};
  }

 private:
  Tensor x_, scale_;
};

}  // namespace

Variable RowDot(Context& ctx, const Variable& q, const Variable& c) {
  CheckDevice(ctx, "RowDot", q.value(), c.value());
  const Tensor qt = internal::AsMatrix(ctx, q, "RowDot: q").Contiguous(ctx);
  const Tensor ct = internal::AsMatrix(ctx, c, "RowDot: c").Contiguous(ctx);
  TESSERA_CHECK_EQ(qt.shape(), ct.shape(), "RowDot");
  return Record(ctx, std::make_unique<RowDotFunction>(qt, ct), {q, c}, DotsOfRows(ctx, qt, ct));
}

Variable ScaleRows(Context& ctx, const Variable& x, const Variable& scale) {
  CheckDevice(ctx, "ScaleRows", x.value(), scale.value());
  const Tensor in = internal::AsMatrix(ctx, x, "ScaleRows: x").Contiguous(ctx);
  TESSERA_CHECK_EQ(scale.shape(), (Shape{in.dim(0)}), "ScaleRows: scale for {}", x.shape());
  const Tensor factors = scale.value().Contiguous(ctx);
  return Record(ctx, std::make_unique<ScaleRowsFunction>(in, factors), {x, scale},
                ScaledRows(ctx, in, factors));
}

Variable CosineSimilarity(Context& ctx, const Variable& q, const Variable& c, float eps) {
  if (!q || !c || q.rank() != 2 || q.shape() != c.shape())
    throw Error(Format("CosineSimilarity: q {} and c {}; expected [B, D] twice",
                       q ? ToString(q.shape()) : "undefined",
                       c ? ToString(c.shape()) : "undefined"));
  return RowDot(ctx, NormalizeRows(ctx, q, eps), NormalizeRows(ctx, c, eps));
}

}  // namespace tessera
