// Products on the CPU: blocks of one product each, on the threads of the context.
#include <algorithm>

#include "runtime/accumulation.h"
#include "runtime/context.h"
#include "runtime/ops/gemm_impl.h"

namespace tessera::internal {
namespace {

// Part of one C.
struct Block {
  int64_t row, rows, column, columns;
};

void RunKernel(GemmForm form, const GemmArgs& g) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0) {
    for (int64_t r = 0; r < g.m; ++r) std::fill_n(g.c + r * g.ldc, g.n, 0.0f);
    return;
  }
  const GemmKernels& kernels = BestGemm();
  (form == GemmForm::kNN ? kernels.nn : form == GemmForm::kNT ? kernels.nt : kernels.tn)(g);
}

// C (or, if `add`, C and) Aᵀ·B, chunk by chunk of their rows.
void RunChunks(const GemmArgs& all, bool add) {
  if (all.k == 0 && !add) RunKernel(GemmForm::kTN, all);
  for (int64_t begin = 0; begin < all.k; begin += kGemmChunk) {
    GemmArgs g = all;
    g.a += begin * g.lda;
    g.b += begin * g.ldb;
    g.k = std::min(kGemmChunk, all.k - begin);
    if (begin == 0 && !add)
      RunKernel(GemmForm::kTN, g);
    else if (g.m > 0 && g.n > 0)
      BestGemm().tn_add(g);
  }
}

void RunBlock(const GemmProblem& p, int64_t index, const Block& block) {
  GemmArgs g = p.first;
  g.a += index * p.step_a + (p.form == GemmForm::kTN ? block.row : block.row * g.lda);
  g.b += index * p.step_b + (p.form == GemmForm::kNT ? block.column * g.ldb : block.column);
  g.c += index * p.step_c + block.row * g.ldc + block.column;
  g.m = block.rows;
  g.n = block.columns;
  if (p.form == GemmForm::kTN && p.batch == 1)
    RunChunks(g, p.add);
  else
    RunKernel(p.form, g);
  if (p.bias == nullptr && !p.relu) return;
  const float* bias = p.bias == nullptr ? nullptr : p.bias + block.column;
  BestElementwise().add_bias(g.c, g.ldc, g.m, g.n, bias, p.relu);
}

// C in tiles, for kTN.
void RunTiles(Context& ctx, const GemmProblem& p) {
  const int64_t m = p.first.m, n = p.first.n,
                across = (n + kGemmTileColumns - 1) / kGemmTileColumns;
  const int64_t tiles = (m + kGemmTileRows - 1) / kGemmTileRows * across;
  ParallelFor(ctx, tiles, 1, [&](int64_t tile, int64_t) {
    const int64_t row = tile / across * kGemmTileRows, column = tile % across * kGemmTileColumns;
    RunBlock(
        p, 0,
        {row, std::min(kGemmTileRows, m - row), column, std::min(kGemmTileColumns, n - column)});
  });
}

}  // namespace

void RunGemmRows(const GemmProblem& p, int64_t begin, int64_t end) {
  RunBlock(p, 0, {begin, end - begin, 0, p.first.n});
}

void RunGemm(OnCpu, Context& ctx, const GemmProblem& p) {
  if (p.batch != 1)
    ParallelFor(ctx, p.batch, 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) RunBlock(p, i, {0, p.first.m, 0, p.first.n});
    });
  else if (p.form == GemmForm::kTN)
    RunTiles(ctx, p);
  else
    ParallelFor(ctx, p.first.m, GemmBlockRows(ItemsOfStep(ctx, p.first.m)),
                [&](int64_t begin, int64_t end) { RunGemmRows(p, begin, end); });
}

}  // namespace tessera::internal
