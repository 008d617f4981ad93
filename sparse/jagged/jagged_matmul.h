#ifndef TESSERA_SPARSE_JAGGED_JAGGED_MATMUL_H_
#define TESSERA_SPARSE_JAGGED_JAGGED_MATMUL_H_
// A small product for every bag of a jagged matrix [N, D] with offsets [B+1] (i32 or i64). f32,
// differentiable in all operands; sums run in order, whatever the number of threads. Throws Error
// for shapes that don't fit or a bag longer than max_length.
#include "runtime/autograd.h"

namespace tessera {

// z [B, M, K] = xᵀ y of each bag; x [N, M], y [N, K].
Variable JaggedJaggedBmm(Context& ctx, const Variable& x, const Variable& y, const Tensor& offsets,
                         int64_t max_length);

// z [N, M] = the row of x times y of its bag; x [N, K], y [B, K, M].
Variable JaggedDenseBmm(Context& ctx, const Variable& x, const Tensor& offsets, const Variable& y,
                        int64_t max_length);

// y [B·H, D], y[b·H + h] = Σ_l v[b·H + h, l] · a[row l of bag b, columns h·D … (h+1)·D]; v [B·H,
// L], a [N, H·D]. Rows past L of a bag count as 0.
Variable BatchedDenseVecJagged2dMul(Context& ctx, const Variable& v, const Variable& a,
                                    const Tensor& a_offsets);

}  // namespace tessera
#endif  // TESSERA_SPARSE_JAGGED_JAGGED_MATMUL_H_
