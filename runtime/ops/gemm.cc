#include "runtime/ops/gemm.h"

#include "runtime/accumulation.h"
#include "runtime/device/dispatch.h"
#include "runtime/ops/gemm_impl.h"

namespace tessera {
namespace {

struct Extents {
  int64_t m, n, k;
};

// The extents of matrices whose rows are dimension `first`.
Extents CheckedExtents(GemmForm form, const Shape& a, const Shape& b, int first) {
  const bool ta = form == GemmForm::kTN, tb = form == GemmForm::kNT;
  const Extents e{a[first + (ta ? 1 : 0)], b[first + (tb ? 0 : 1)], a[first + (ta ? 0 : 1)]};
  const int64_t b_depth = b[first + (tb ? 1 : 0)];
  TESSERA_CHECK_EQ(e.k, b_depth, "product of {}{} and {}{}", a, ta ? " transposed" : "", b,
                   tb ? " transposed" : "");
  return e;
}

void Dispatch(Context& ctx, const internal::GemmProblem& problem) {
  DispatchDevice(ctx.device(), [&](auto on) { internal::RunGemm(on, ctx, problem); });
}

}  // namespace

namespace internal {

GemmProblem MakeProblem(GemmForm form, const Tensor& a, const Tensor& b, const Tensor& c) {
  GemmProblem p;
  p.form = form;
  p.first = {a.data<float>(), b.data<float>(), c.data<float>(),
             c.dim(0),        c.dim(1),        a.dim(form == GemmForm::kTN ? 0 : 1),
             a.row_stride(),  b.row_stride(),  c.row_stride()};
  if (form == GemmForm::kNT) p.packed = b.packed_panels();
  return p;
}

Tensor AsMatrix(Context& ctx, const Tensor& t, const char* what) {
  TESSERA_CHECK(t.defined(), "{} is undefined", what);
  if (t.rank() != 2 || t.dtype() != DType::kF32)
    throw Error(Format("{} {} of {}; expected a matrix of f32", what, t.shape(), t.dtype()));
  return t.dim(1) <= 1 || t.strides()[1] == 1 ? t : t.Clone(ctx);
}

}  // namespace internal

Tensor Gemm(Context& ctx, GemmForm form, const Tensor& a_in, const Tensor& b_in) {
  CheckDevice(ctx, "product", a_in, b_in);
  const Tensor a = internal::AsMatrix(ctx, a_in, "product: left matrix");
  const Tensor b = internal::AsMatrix(ctx, b_in, "product: right matrix");
  const Extents e = CheckedExtents(form, a.shape(), b.shape(), 0);
  Tensor c = Tensor::Empty(ctx, {e.m, e.n});
  Dispatch(ctx, internal::MakeProblem(form, a, b, c));
  return c;
}

Tensor GemmOverBatch(Context& ctx, const Tensor& a_in, const Tensor& b_in, const Tensor& so_far) {
  internal::ItemsOfStep(ctx, a_in.dim(0));  // whether each example has as many rows
  if (!so_far) return Gemm(ctx, GemmForm::kTN, a_in, b_in);
  const Tensor a = internal::AsMatrix(ctx, a_in, "product: left matrix");
  const Tensor b = internal::AsMatrix(ctx, b_in, "product: right matrix");
  const Extents e = CheckedExtents(GemmForm::kTN, a.shape(), b.shape(), 0);
  TESSERA_CHECK_EQ(so_far.shape(), (Shape{e.m, e.n}), "product over a batch, so far");
  internal::GemmProblem problem = internal::MakeProblem(GemmForm::kTN, a, b, so_far);
  problem.add = true;
  Dispatch(ctx, problem);
  return so_far;
}

void KeepPacked(Context& ctx, const Tensor& weight) {
  CheckDevice(ctx, "weight to pack", weight);
  const Tensor matrix = internal::AsMatrix(ctx, weight, "weight to pack");
  if (ctx.device() != Device::Cpu() || ctx.dense_products() != DenseProducts::kPortable) return;
  matrix.KeepPackedPanels(internal::PackPanelsOf(ctx, matrix));
}

Tensor BatchGemm(Context& ctx, GemmForm form, const Tensor& a, const Tensor& b) {
  CheckDevice(ctx, "batched product", a, b);
  TESSERA_CHECK(a.rank() == 3 && b.rank() == 3 && a.dim(0) == b.dim(0),
                "batched product: expected [B, ., .] twice, got {} and {}", a.shape(), b.shape());
  TESSERA_CHECK(a.is_contiguous() && b.is_contiguous(),
                "batched product: an input is not contiguous");
  const Extents e = CheckedExtents(form, a.shape(), b.shape(), 1);
  Tensor c = Tensor::Empty(ctx, {a.dim(0), e.m, e.n});
  internal::GemmProblem p;
  p.form = form;
  p.first = {
      a.data<float>(), b.data<float>(), c.data<float>(), e.m, e.n, e.k, a.dim(2), b.dim(2), e.n};
  p.batch = a.dim(0);
  p.step_a = e.m * e.k;
  p.step_b = e.k * e.n;
  p.step_c = e.m * e.n;
  Dispatch(ctx, p);
  return c;
}

}  // namespace tessera
