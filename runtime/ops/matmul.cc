#include "runtime/ops/matmul.h"

#include "runtime/ops/gemm.h"

namespace tessera {
namespace {

using Product = Tensor (*)(Context&, GemmForm, const Tensor&, const Tensor&);

GemmForm DetectForm(bool transpose_b) { return transpose_b ? GemmForm::kNT : GemmForm::kNN; }

class MatMulFunction final : public Function {
 public:
  MatMulFunction(Product product, GemmForm form, Tensor a, Tensor b)
      : product_(product), form_(form), a_(std::move(a)), b_(std::move(b)) {}
  std::string_view name() const override { return "MatMul"; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor dy = grads[0].Contiguous(ctx);
    const bool transposed = form_ == GemmForm::kNT;
    std::vector<Tensor> result(2);
    if (needs_grad(0))
      result[0] = product_(ctx, transposed ? GemmForm::kNN : GemmForm::kNT, dy, b_);
    const Tensor &left = transposed ? dy : a_, &right = transposed ? a_ : dy;
    if (product_ == BatchGemm)
      result[1] = needs_grad(1) ? BatchGemm(ctx, GemmForm::kTN, left, right) : Tensor();
    else
      result[1] = SumOverExamples(
          1, [&](const Tensor& so_far) { return GemmOverBatch(ctx, left, right, so_far); });
    return result;
  }

 private:
  Product product_;
  GemmForm form_;
  Tensor a_, b_;
};

}  // namespace

Variable MatMul(Context& ctx, const Variable& a, const Variable& b, bool transpose_b) {
  const GemmForm form = DetectForm(transpose_b);
  Tensor c = Gemm(ctx, form, a, b);
  return Record(ctx, std::make_unique<MatMulFunction>(Gemm, form, a.value(), b.value()), {a, b},
                std::move(c));
}

Variable BatchMatMul(Context& ctx, const Variable& a, const Variable& b, bool transpose_b) {
  const GemmForm form = DetectForm(transpose_b);
  const Tensor at = a.value().Contiguous(ctx), bt = b.value().Contiguous(ctx);
  Tensor c = BatchGemm(ctx, form, at, bt);
  return Record(ctx, std::make_unique<MatMulFunction>(BatchGemm, form, at, bt), {a, b},
                std::move(c));
}

}  // namespace tessera
