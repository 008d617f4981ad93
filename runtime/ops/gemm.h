#ifndef TESSERA_RUNTIME_OPS_GEMM_H_
#define TESSERA_RUNTIME_OPS_GEMM_H_
// Products of f32 matrices, without autograd (that is runtime/ops/matmul.h and linear.h).
//
// On a CPU the work is cut into blocks that depend on the shapes alone: 64 or 128 rows of C, or,
// for kTN, whose rows are not the batch, tiles of 128×256. Each block is one product on one thread,
// so the bits don't depend on the number of threads. For kTN, whose sums are over the batch, it is
// a sum of products of chunks of kGemmChunk rows, in their order.
//
// On CUDA cuBLAS runs it where the machine has one (runtime/cublas.h), else a kernel of our own,
// whose tiles and pieces of a long sum depend on the shapes alone. Either gives the same bits in
// every run; CPU, cuBLAS and our kernel differ in the order of their sums.
#include "runtime/tensor.h"

namespace tessera {

// C[m, n] = A[m, k]·B[k, n], A[m, k]·B[n, k]ᵀ, or A[k, m]ᵀ·B[k, n].
enum class GemmForm { kNN, kNT, kTN };

inline constexpr int64_t kGemmTileRows = 128, kGemmTileColumns = 256, kGemmChunk = 128;

// Rows of a block of C, which has `rows` rows in the whole step (several micro-batches may be one
// step). The other matrix is packed anew for each block: where there are blocks enough, 128 rows
// make the layers of a DLRM 7% faster than 64 (Zen 5), 256 rows 8%.
constexpr int64_t GemmBlockRows(int64_t rows) { return rows >= 2048 ? 128 : 64; }

// C as above. REQUIRES: f32 matrices whose inner extents agree; rows may have any stride.
Tensor Gemm(Context& ctx, GemmForm form, const Tensor& a, const Tensor& b);
// Aᵀ·B of a batch's rows, with what earlier rows of the batch gave, `so_far` (undefined: nothing).
// On a CPU `so_far` is written over and returned, and the bits are those of one product of all
// rows, if the earlier ones are a multiple of kGemmChunk.
Tensor GemmOverBatch(Context& ctx, const Tensor& a, const Tensor& b, const Tensor& so_far);

// C[i] = op(A[i])·op(B[i]) for each i of the first dimension. REQUIRES: rank 3, contiguous.
Tensor BatchGemm(Context& ctx, GemmForm form, const Tensor& a, const Tensor& b);

namespace internal {
// `t` if it is a matrix whose rows are contiguous, else a contiguous copy. REQUIRES: f32, rank 2;
// `what` names it in errors.
Tensor AsMatrix(Context& ctx, const Tensor& t, const char* what);
}  // namespace internal
}  // namespace tessera
#endif  // TESSERA_RUNTIME_OPS_GEMM_H_
