#ifndef TESSERA_BENCH_LAB_PRODUCT_KERNEL_H_
#define TESSERA_BENCH_LAB_PRODUCT_KERNEL_H_
// A product of f32 matrices: C[m, n] is A[m, k]·B[k, n], A[m, k]·B[n, k]ᵀ or A[k, m]ᵀ·B[k, n].
//
// An element of C is made from pieces of kGemmPiece terms of its sum, each a chain of fused
// multiply-adds from 0 in the order of k; the pieces' results are added in their order, the first
// one to nothing (runtime/ops/gemm.h). A variant with other_sums may have another order.
#include <cstdint>

#include "runtime/base/host_device.h"
#include "runtime/ops/gemm.h"

namespace tessera::bench {

struct ProductArgs {
  GemmForm form = GemmForm::kNN;
  const float *a = nullptr, *b = nullptr;
  float* c = nullptr;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;  // from one row in memory to the next

  // Term p of row i of A, and of column j of B.
  TESSERA_HD const float* A(int64_t i, int64_t p) const {
    return a + (form == GemmForm::kTN ? p * lda + i : i * lda + p);
  }
  TESSERA_HD const float* B(int64_t p, int64_t j) const {
    return b + (form == GemmForm::kNT ? j * ldb + p : p * ldb + j);
  }
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_PRODUCT_KERNEL_H_
