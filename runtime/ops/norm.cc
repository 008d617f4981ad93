#include "runtime/ops/norm.h"

#include <algorithm>
#include <cmath>

#include "runtime/ops/activation.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/ops/gemm.h"
#include "runtime/ops/kernels.h"
#include "runtime/ops/linear.h"

namespace tessera {
namespace {

constexpr int64_t kRowsOfAPiece = 64;

class LayerNormFunction final : public Function {
 public:
  LayerNormFunction(Tensor x, Tensor weight, Tensor mean, Tensor rstd)
      : x_(std::move(x)),
        weight_(std::move(weight)),
        mean_(std::move(mean)),
        rstd_(std::move(rstd)) {}
  std::string_view name() const override { return "LayerNorm"; }

  // Each piece of rows has its own sums for weight and bias, added up in order afterwards.
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor dy = grads[0].Contiguous(ctx);
    const int64_t dim = weight_.dim(0), rows = mean_.dim(0),
                  pieces = (rows + kRowsOfAPiece - 1) / kRowsOfAPiece;
    const Tensor dx = needs_grad(0) ? Tensor::Empty(ctx, x_.shape()) : Tensor();
    const Tensor partial = Tensor::Zeros(ctx, {pieces, 2 * dim});
    ParallelFor(ctx, rows, kRowsOfAPiece, [&](int64_t begin, int64_t end) {
      float* sums = partial.data<float>() + begin / kRowsOfAPiece * 2 * dim;
      internal::BestNorm().backward(
          {x_.data<float>() + begin * dim, weight_.data<float>(), mean_.data<float>() + begin,
           rstd_.data<float>() + begin, dy.data<float>() + begin * dim,
           dx ? dx.data<float>() + begin * dim : nullptr, sums, sums + dim, end - begin, dim});
    });
    const Tensor sums = internal::ColumnSums(ctx, partial);
    return {dx, sums.Narrow(0, 0, dim), sums.Narrow(0, dim, dim)};
  }

 private:
  Tensor x_, weight_, mean_, rstd_;
};

// √(Σ x²) of one row, in double.
double Norm(const float* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return std::sqrt(sum);
}

// y = x/n with n = max(‖x‖, eps): dx = (dy − y·(y·dy))/n, or dy/eps where eps rules.
class NormalizeRowsFunction final : public Function {
 public:
  NormalizeRowsFunction(Tensor x, float eps) : x_(std::move(x)), eps_(eps) {}
  std::string_view name() const override { return "NormalizeRows"; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor dy = grads[0].Contiguous(ctx);
    Tensor dx = Tensor::Empty(ctx, x_.shape());
    const int64_t dim = x_.dim(1);
    ParallelFor(ctx, x_.dim(0), kRowsOfAPiece, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        BackwardRow(x_.data<float>() + r * dim, dy.data<float>() + r * dim,
                    dx.data<float>() + r * dim, dim);
    });
    return {dx};
  }

 private:
  void BackwardRow(const float* x, const float* dy, float* dx, int64_t dim) const {
    const double norm = Norm(x, dim), scale = 1.0 / std::max<double>(norm, eps_);
    double dot = 0;
    if (norm > eps_)
      for (int64_t i = 0; i < dim; ++i) dot += static_cast<double>(x[i]) * dy[i];
    for (int64_t i = 0; i < dim; ++i)
      dx[i] = static_cast<float>((dy[i] - x[i] * (dot * scale * scale)) * scale);
  }

  Tensor x_;
  float eps_;
};

}  // namespace

Variable LayerNorm(Context& ctx, const Variable& x, const Variable& weight, const Variable& bias,
                   float eps) {
  TESSERA_CHECK(x && x.rank() >= 1 && x.dim(-1) > 0, "LayerNorm of a tensor {}", x.value().shape());
  const int64_t dim = x.dim(-1), rows = x.value().numel() / dim;
  TESSERA_CHECK(weight && bias, "LayerNorm: weight or bias is undefined");
  TESSERA_CHECK_EQ(weight.shape(), (Shape{dim}), "LayerNorm: weight");
  TESSERA_CHECK_EQ(bias.shape(), (Shape{dim}), "LayerNorm: bias");
  const Tensor in = x.value().Contiguous(ctx), w = weight.value().Contiguous(ctx),
               b = bias.value().Contiguous(ctx);
  Tensor y = Tensor::Empty(ctx, in.shape()), mean = Tensor::Empty(ctx, {rows}),
         rstd = Tensor::Empty(ctx, {rows});
  ParallelFor(ctx, rows, kRowsOfAPiece, [&](int64_t begin, int64_t end) {
    internal::BestNorm().forward({in.data<float>() + begin * dim, w.data<float>(), b.data<float>(),
                                  y.data<float>() + begin * dim, mean.data<float>() + begin,
                                  rstd.data<float>() + begin, end - begin, dim, eps});
  });
  return Record(ctx, std::make_unique<LayerNormFunction>(in, w, mean, rstd), {x, weight, bias}, y);
}

Variable SwishLayerNorm(Context& ctx, const Variable& x, const Variable& weight,
                        const Variable& bias, float eps) {
  return Mul(ctx, x, Sigmoid(ctx, LayerNorm(ctx, x, weight, bias, eps)));
}

Variable NormalizeRows(Context& ctx, const Variable& x, float eps) {
  const Tensor in = internal::AsMatrix(ctx, x, "NormalizeRows: x").Contiguous(ctx);
  TESSERA_CHECK(eps > 0, "NormalizeRows: eps {}", eps);
  Tensor y = Tensor::Empty(ctx, in.shape());
  const int64_t dim = in.dim(1);
  ParallelFor(ctx, in.dim(0), kRowsOfAPiece, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* row = in.data<float>() + r * dim;
      const double scale = 1.0 / std::max<double>(Norm(row, dim), eps);
      for (int64_t i = 0; i < dim; ++i)
        y.data<float>()[r * dim + i] = static_cast<float>(row[i] * scale);
    }
  });
  return Record(ctx, std::make_unique<NormalizeRowsFunction>(in, eps), {x}, y);
}

}  // namespace tessera
