// cuBLAS's products, whose factors are first rounded to bf16 where a context asks for it.
#include <algorithm>
#include <utility>

#include "runtime/cublas.h"
#include "runtime/launch.cuh"
#include "runtime/ops/cublas_gemm.h"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

// The rows of all matrices of a factor: row r, of [matrices, rows], lies `ld` floats behind the one
// before it in its matrix, which lies `step` behind the matrix before it.
struct FactorRows {
  const float* first;
  int64_t matrices, rows, columns, ld, step;
};

// Writes them as bf16, one after the other. One thread a column.
__global__ void RoundRowsKernel(const FactorRows f, BFloat16* rounded) {
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, all = f.matrices * f.rows;
  if (column >= f.columns) return;
  for (int64_t r = int64_t{blockIdx.y} * blockDim.y + threadIdx.y; r < all;
       r += int64_t{gridDim.y} * blockDim.y) {
    const int64_t matrix = f.matrices == 1 ? 0 : r / f.rows, row = r - matrix * f.rows;
    rounded[r * f.columns + column] = BFloat16(f.first[matrix * f.step + row * f.ld + column]);
  }
}

Tensor Rounded(Context& ctx, const FactorRows& f) {
  Tensor rounded = Tensor::Empty(ctx, {f.matrices * f.rows, f.columns}, DType::kBF16);
  const int64_t rows = std::min<int64_t>((f.matrices * f.rows + 7) / 8, 65535);
  Launch(ctx, RoundRowsKernel,
         dim3(static_cast<unsigned>((f.columns + 31) / 32), static_cast<unsigned>(rows)),
         dim3(32, 8), 0, f, rounded.data<BFloat16>());
  return rounded;
}

CublasGemmArgs ArgsOf(const GemmProblem& p, float* c, int64_t ldc) {
  const GemmArgs& g = p.first;
  return {.transpose_a = p.form == GemmForm::kTN,
          .transpose_b = p.form == GemmForm::kNT,
          .bf16 = false,
          .m = g.m,
          .n = g.n,
          .k = g.k,
          .a = g.a,
          .lda = g.lda,
          .step_a = p.step_a,
          .b = g.b,
          .ldb = g.ldb,
          .step_b = p.step_b,
          .c = c,
          .ldc = ldc,
          .step_c = p.step_c,
          .batch = p.batch};
}

bool MultiplyRounded(Context& ctx, const GemmProblem& p, CublasGemmArgs args) {
  const GemmArgs& g = p.first;
  const auto [rows_a, columns_a] = args.transpose_a ? std::pair(g.k, g.m) : std::pair(g.m, g.k);
  const auto [rows_b, columns_b] = args.transpose_b ? std::pair(g.n, g.k) : std::pair(g.k, g.n);
  const Tensor a = Rounded(ctx, {g.a, p.batch, rows_a, columns_a, g.lda, p.step_a}),
               b = Rounded(ctx, {g.b, p.batch, rows_b, columns_b, g.ldb, p.step_b});
  args.bf16 = true;
  args.a = a.raw_data();
  args.lda = columns_a;
  args.step_a = rows_a * columns_a;
  args.b = b.raw_data();
  args.ldb = columns_b;
  args.step_b = rows_b * columns_b;
  return CublasGemm(ctx, args);
}

}  // namespace

bool MultiplyByCublas(Context& ctx, const GemmProblem& p, float* c, int64_t ldc) {
  const CublasGemmArgs args = ArgsOf(p, c, ldc);
  if (ctx.dense_products() == DenseProducts::kBf16) return MultiplyRounded(ctx, p, args);
  return CublasGemm(ctx, args);
}

}  // namespace tessera::internal
