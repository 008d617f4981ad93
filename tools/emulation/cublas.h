#ifndef TESSERA_TOOLS_EMULATION_CUBLAS_H_
#define TESSERA_TOOLS_EMULATION_CUBLAS_H_
// Stands in for the part of cuBLAS's C interface that Tessera uses: column-major products, by plain
// loops on the stream of the handle. Refuses what cuBLAS refuses: a leading dimension below the
// matrix's height.
#include <cstddef>

extern "C" {
int cublasCreate_v2(void** handle);
int cublasSetStream_v2(void* handle, void* stream);
int cublasSetWorkspace_v2(void* handle, void* workspace, size_t bytes);
int cublasSetMathMode(void* handle, int mode);
int cublasSgemm_v2(void* handle, int op_a, int op_b, int m, int n, int k, const float* alpha,
                   const float* a, int lda, const float* b, int ldb, const float* beta, float* c,
                   int ldc);
int cublasSgemmStridedBatched(void* handle, int op_a, int op_b, int m, int n, int k,
                              const float* alpha, const float* a, int lda, long long step_a,
                              const float* b, int ldb, long long step_b, const float* beta,
                              float* c, int ldc, long long step_c, int batch);
}

#endif  // TESSERA_TOOLS_EMULATION_CUBLAS_H_
