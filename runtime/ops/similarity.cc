#include "runtime/ops/similarity.h"

#include "runtime/ops/gemm.h"
#include "runtime/ops/norm.h"

namespace tessera {
namespace {

constexpr int64_t kRowsOfAPiece = 64;

// Row r of x times scale[r].
Tensor ScaledRows(Context& ctx, const Tensor& x, const Tensor& scale) {
  Tensor y = Tensor::Empty(ctx, x.shape());
  const int64_t dim = x.dim(1);
  ParallelFor(ctx, x.dim(0), kRowsOfAPiece, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t i = r * dim; i < (r + 1) * dim; ++i)
        y.data<float>()[i] = x.data<float>()[i] * scale.data<float>()[r];
  });
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

}  // namespace

Variable RowDot(Context& ctx, const Variable& q, const Variable& c) {
  const Tensor qt = internal::AsMatrix(ctx, q, "RowDot: q").Contiguous(ctx);
  const Tensor ct = internal::AsMatrix(ctx, c, "RowDot: c").Contiguous(ctx);
  TESSERA_CHECK_EQ(qt.shape(), ct.shape(), "RowDot");
  const int64_t dim = qt.dim(1);
  Tensor y = Tensor::Empty(ctx, {qt.dim(0)});
  ParallelFor(ctx, qt.dim(0), kRowsOfAPiece, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      double sum = 0;
      for (int64_t i = r * dim; i < (r + 1) * dim; ++i)
        sum += static_cast<double>(qt.data<float>()[i]) * ct.data<float>()[i];
      y.data<float>()[r] = static_cast<float>(sum);
    }
  });
  return Record(ctx, std::make_unique<RowDotFunction>(qt, ct), {q, c}, y);
}

Variable CosineSimilarity(Context& ctx, const Variable& q, const Variable& c, float eps) {
  return RowDot(ctx, NormalizeRows(ctx, q, eps), NormalizeRows(ctx, c, eps));
}

}  // namespace tessera
