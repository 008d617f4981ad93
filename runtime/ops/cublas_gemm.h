#ifndef TESSERA_RUNTIME_OPS_CUBLAS_GEMM_H_
#define TESSERA_RUNTIME_OPS_CUBLAS_GEMM_H_
// The product of a GemmProblem by cuBLAS.
#include "runtime/context.h"
#include "runtime/ops/gemm_impl.h"

namespace tessera::internal {

// Writes C, whose rows lie `ldc` elements behind each other, without bias, relu and what C had.
// False where CublasGemm is (runtime/cublas.h). REQUIRES: nothing is empty.
bool MultiplyByCublas(Context& ctx, const GemmProblem& p, float* c, int64_t ldc);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_CUBLAS_GEMM_H_
