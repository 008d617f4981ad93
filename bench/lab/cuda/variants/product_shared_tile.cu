// The product of textbooks: a block makes a square tile of C, a thread an element. Tiles of A and B
// come to shared memory, where each of their elements is read as often as the tile is wide. The
// chains of fused multiply-adds are ours, so the bits are, too. Two loads of shared memory for each
// multiply-add bound it: the library's threads hold 16 or 64 elements of C in registers.
#include <algorithm>
#include <cmath>

#include "bench/lab/cuda/cuda_variant.h"
#include "runtime/context.h"
#include "runtime/launch.cuh"

namespace tessera::bench {
namespace {

// Copies the elements [row …, term …] of A and [term …, column …] of B, zeros where there are none,
// so that neighbouring threads read neighbours in memory.
template <int kTile>
struct Tiles {
  float a[kTile][kTile + 1], b[kTile][kTile + 1];  // [row][term], [term][column]

  __device__ __forceinline__ void Load(const ProductArgs& p, int64_t row, int64_t column,
                                       int64_t term) {
    const int fast = static_cast<int>(threadIdx.x) % kTile,
              slow = static_cast<int>(threadIdx.x) / kTile;
    const bool tn = p.form == GemmForm::kTN, nt = p.form == GemmForm::kNT;
    const int i = tn ? fast : slow, a_term = tn ? slow : fast;
    const bool in_a = row + i < p.m && term + a_term < p.k;
    a[i][a_term] = in_a ? *p.A(row + i, term + a_term) : 0.0f;
    const int j = nt ? slow : fast, b_term = nt ? fast : slow;
    const bool in_b = column + j < p.n && term + b_term < p.k;
    b[b_term][j] = in_b ? *p.B(term + b_term, column + j) : 0.0f;
  }
};

template <int kTile>
__global__ void __launch_bounds__(kTile* kTile) SharedTile(ProductArgs p, int64_t tiles_of_row) {
  static_assert(kGemmPiece % kTile == 0);
  __shared__ Tiles<kTile> tiles;
  const int j = static_cast<int>(threadIdx.x) % kTile, i = static_cast<int>(threadIdx.x) / kTile;
  const int64_t row = blockIdx.x / tiles_of_row * kTile, column = blockIdx.x % tiles_of_row * kTile;
  float sum = 0;
  for (int64_t begin = 0; begin < p.k; begin += kGemmPiece) {
    const int64_t end = begin + kGemmPiece < p.k ? begin + kGemmPiece : p.k;
    float piece = 0;
    for (int64_t term = begin; term < end; term += kTile) {
      tiles.Load(p, row, column, term);
      __syncthreads();
      const int count = end - term < kTile ? static_cast<int>(end - term) : kTile;
#pragma unroll 4
      for (int t = 0; t < count; ++t) piece = fmaf(tiles.a[i][t], tiles.b[t][j], piece);
      __syncthreads();
    }
    sum = begin == 0 ? piece : sum + piece;
  }
  if (row + i < p.m && column + j < p.n) p.c[(row + i) * p.ldc + column + j] = sum;
}

template <int kTile>
void Multiply(Context& ctx, const ProductArgs& p) {
  const int64_t rows = (p.m + kTile - 1) / kTile, columns = (p.n + kTile - 1) / kTile;
  internal::Launch(ctx, SharedTile<kTile>, dim3(static_cast<unsigned>(rows * columns)),
                   dim3(kTile * kTile), 0, p, columns);
}

using Tile = Constants<16, 8, 32>;

const RegisterCuda kSharedTile({.name = "shared_tile",
                                .about = "a square tile of C a block, an element a thread",
                                .parameters = {Tile::Named("tile", "rows and columns of a tile")},
                                .make = [](const Point& point) {
                                  return Tile::With(
                                      point.Int("tile"),
                                      [&]<int kTile>() -> CudaKernel { return Multiply<kTile>; });
                                }});

}  // namespace
}  // namespace tessera::bench
