#ifndef TESSERA_RUNTIME_OPS_GEMM_H_
#define TESSERA_RUNTIME_OPS_GEMM_H_
// Products of f32 matrices, without autograd (that is runtime/ops/matmul.h and linear.h).
//
// A portable product (DenseProducts::kPortable, what a CPU does) has the same bits with every
// instruction set, number of threads and batch: an element of C is made from pieces of kGemmPiece
// terms of its sum, each a chain of fused multiply-adds from 0 in the order of k; the pieces'
// results are added in their order.
//
// DenseProducts::kLibrary gives the same bits in every run on one machine, with any number of
// threads. On a CPU it is Eigen, on blocks of C that depend on the shapes alone (64 or 128 rows;
// for kTN, whose rows are not the batch, tiles of 128×256, and pieces of kGemmPiece rows of the
// batch). On CUDA it is cuBLAS where the machine has one (runtime/cublas.h), else the portable one;
// under DenseProducts::kTf32 and kBf16 always cuBLAS.
#include "runtime/tensor.h"

namespace tessera {

// C[m, n] = A[m, k]·B[k, n], A[m, k]·B[n, k]ᵀ, or A[k, m]ᵀ·B[k, n].
enum class GemmForm { kNN, kNT, kTN };

inline constexpr int64_t kGemmPiece = 128;

// C as above. REQUIRES: f32 matrices whose inner extents agree; rows may have any stride.
Tensor Gemm(Context& ctx, GemmForm form, const Tensor& a, const Tensor& b);
// Aᵀ·B of a batch's rows, with what earlier rows of the batch gave, `so_far` (undefined: nothing).
// `so_far` is written over and returned. The bits are those of one product of all rows, if the
// earlier ones are a multiple of kGemmPiece and cuBLAS does not make it.
Tensor GemmOverBatch(Context& ctx, const Tensor& a, const Tensor& b, const Tensor& so_far);

// Keeps beside a weight[n, k] a copy of it in the order that products with its transpose, such as
// Linear, read: with few rows they take a quarter of the time. The weight must not change from now
// on. REQUIRES: f32, rank 2. Does nothing where other products are made: on a GPU, by Eigen.
void KeepPacked(Context& ctx, const Tensor& weight);

// C[i] = op(A[i])·op(B[i]) for each i of the first dimension. REQUIRES: rank 3, contiguous.
Tensor BatchGemm(Context& ctx, GemmForm form, const Tensor& a, const Tensor& b);

namespace internal {
// `t` if it is a matrix whose rows are contiguous, else a contiguous copy. REQUIRES: f32, rank 2;
// `what` names it in errors.
Tensor AsMatrix(Context& ctx, const Tensor& t, const char* what);
}  // namespace internal
}  // namespace tessera
#endif  // TESSERA_RUNTIME_OPS_GEMM_H_
