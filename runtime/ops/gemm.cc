#include "runtime/ops/gemm.h"

#include <algorithm>

#include "runtime/ops/kernels.h"

namespace tessera {
namespace {

// Where a block of C and the parts of A and B it needs begin.
struct Block {
  int64_t row, rows, column, columns;
};

// `dims` are those of the matrices: the first is rows.
struct Extents {
  int64_t m, n, k;
};
Extents CheckedExtents(GemmForm form, const Shape& a, const Shape& b, int first) {
  const bool ta = form == GemmForm::kTN, tb = form == GemmForm::kNT;
  const Extents e{a[first + (ta ? 1 : 0)], b[first + (tb ? 0 : 1)], a[first + (ta ? 0 : 1)]};
  const int64_t b_depth = b[first + (tb ? 1 : 0)];
  TESSERA_CHECK_EQ(e.k, b_depth, "product of {}{} and {}{}", a, ta ? " transposed" : "", b,
                   tb ? " transposed" : "");
  return e;
}

void RunKernel(GemmForm form, const internal::GemmArgs& g) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0) {
    for (int64_t r = 0; r < g.m; ++r) std::fill_n(g.c + r * g.ldc, g.n, 0.0f);
    return;
  }
  const internal::GemmKernels& kernels = internal::BestGemm();
  (form == GemmForm::kNN ? kernels.nn : form == GemmForm::kNT ? kernels.nt : kernels.tn)(g);
}

void RunBlock(GemmForm form, const Tensor& a, const Tensor& b, const Tensor& c,
              const Block& block) {
  const bool ta = form == GemmForm::kTN, tb = form == GemmForm::kNT;
  internal::GemmArgs g;
  g.lda = a.row_stride();
  g.ldb = b.row_stride();
  g.ldc = c.row_stride();
  g.a = a.data<float>() + (ta ? block.row : block.row * g.lda);
  g.b = b.data<float>() + (tb ? block.column * g.ldb : block.column);
  g.c = c.data<float>() + block.row * g.ldc + block.column;
  g.m = block.rows;
  g.n = block.columns;
  g.k = a.dim(ta ? 0 : 1);
  RunKernel(form, g);
}

// C in tiles, for kTN.
void RunTiles(Context& ctx, const Tensor& a, const Tensor& b, const Tensor& c) {
  const int64_t m = c.dim(0), n = c.dim(1), across = (n + kGemmTileColumns - 1) / kGemmTileColumns;
  const int64_t tiles = (m + kGemmTileRows - 1) / kGemmTileRows * across;
  ParallelFor(ctx, tiles, 1, [&](int64_t tile, int64_t) {
    const int64_t row = tile / across * kGemmTileRows, column = tile % across * kGemmTileColumns;
    RunBlock(
        GemmForm::kTN, a, b, c,
        {row, std::min(kGemmTileRows, m - row), column, std::min(kGemmTileColumns, n - column)});
  });
}

}  // namespace

namespace internal {

void GemmRows(GemmForm form, const Tensor& a, const Tensor& b, const Tensor& c, int64_t begin,
              int64_t end) {
  RunBlock(form, a, b, c, {begin, end - begin, 0, c.dim(1)});
}

Tensor AsMatrix(Context& ctx, const Tensor& t, const char* what) {
  TESSERA_CHECK(t.defined(), "{} is undefined", what);
  TESSERA_CHECK_EQ(t.rank(), 2, "{} of shape {}", what, t.shape());
  TESSERA_CHECK_EQ(t.dtype(), DType::kF32, "{}", what);
  return t.dim(1) <= 1 || t.strides()[1] == 1 ? t : t.Clone(ctx);
}

}  // namespace internal

Tensor Gemm(Context& ctx, GemmForm form, const Tensor& a_in, const Tensor& b_in) {
  const Tensor a = internal::AsMatrix(ctx, a_in, "product: left matrix");
  const Tensor b = internal::AsMatrix(ctx, b_in, "product: right matrix");
  const Extents e = CheckedExtents(form, a.shape(), b.shape(), 0);
  Tensor c = Tensor::Empty(ctx, {e.m, e.n});
  if (form == GemmForm::kTN) {
    RunTiles(ctx, a, b, c);
    return c;
  }
  ParallelFor(ctx, e.m, kGemmBlockRows,
              [&](int64_t begin, int64_t end) { internal::GemmRows(form, a, b, c, begin, end); });
  return c;
}

Tensor BatchGemm(Context& ctx, GemmForm form, const Tensor& a, const Tensor& b) {
  TESSERA_CHECK(a.rank() == 3 && b.rank() == 3 && a.dim(0) == b.dim(0),
                "batched product: expected [B, ., .] twice, got {} and {}", a.shape(), b.shape());
  TESSERA_CHECK(a.is_contiguous() && b.is_contiguous(),
                "batched product: an input is not contiguous");
  const Extents e = CheckedExtents(form, a.shape(), b.shape(), 1);
  Tensor c = Tensor::Empty(ctx, {a.dim(0), e.m, e.n});
  const float *pa = a.data<float>(), *pb = b.data<float>();
  float* pc = c.data<float>();
  ParallelFor(ctx, a.dim(0), 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      RunKernel(form, {pa + i * e.m * e.k, pb + i * e.k * e.n, pc + i * e.m * e.n, e.m, e.n, e.k,
                       a.dim(2), b.dim(2), e.n});
  });
  return c;
}

}  // namespace tessera
