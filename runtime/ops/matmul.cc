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

// Throws Error unless a and b have a product: matrices for rank 2, batches of them for 3.
void CheckFactors(const char* op, const Variable& a, const Variable& b, int rank,
                  bool transpose_b) {
  const auto shown = [](const Variable& x) { return x ? ToString(x.shape()) : "undefined"; };
  const auto is_factor = [&](const Variable& x) { return x && x.rank() == rank; };
  if (!is_factor(a) || !is_factor(b) || a.dim(-1) != b.dim(transpose_b ? -1 : -2) ||
      (rank == 3 && a.dim(0) != b.dim(0)))
    throw Error(Format("{}: a {} and b {}; expected [{}M, K] and [{}{}]", op, shown(a), shown(b),
                       rank == 3 ? "B, " : "", rank == 3 ? "B, " : "",
                       transpose_b ? "N, K" : "K, N"));
  for (const Variable* x : {&a, &b})
    if (x->value().dtype() != DType::kF32)
      throw Error(
          Format("{} of a tensor {} of {}; expected f32", op, x->shape(), x->value().dtype()));
}

}  // namespace

Variable MatMul(Context& ctx, const Variable& a, const Variable& b, bool transpose_b) {
  CheckFactors("MatMul", a, b, 2, transpose_b);
  const GemmForm form = DetectForm(transpose_b);
  Tensor c = Gemm(ctx, form, a, b);
  return Record(ctx, std::make_unique<MatMulFunction>(Gemm, form, a.value(), b.value()), {a, b},
                std::move(c));
}

Variable BatchMatMul(Context& ctx, const Variable& a, const Variable& b, bool transpose_b) {
  CheckFactors("BatchMatMul", a, b, 3, transpose_b);
  const GemmForm form = DetectForm(transpose_b);
  const Tensor at = a.value().Contiguous(ctx), bt = b.value().Contiguous(ctx);
  Tensor c = BatchGemm(ctx, form, at, bt);
  return Record(ctx, std::make_unique<MatMulFunction>(BatchGemm, form, at, bt), {a, b},
                std::move(c));
}

}  // namespace tessera
