#ifndef TESSERA_TOOLS_EMULATION_CUBLAS_H_
#define TESSERA_TOOLS_EMULATION_CUBLAS_H_
// Stands in for the part of cuBLAS's C interface that Tessera uses: column-major products of f32 or
// bf16 into f32, by plain loops on the stream of the handle. Refuses what cuBLAS refuses: a leading
// dimension below the matrix's height; and other types.
#include <cstddef>

extern "C" {
int cublasCreate_v2(void** handle);
int cublasSetStream_v2(void* handle, void* stream);
int cublasSetWorkspace_v2(void* handle, void* workspace, size_t bytes);
int cublasGemmEx(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                 const void* a, int type_a, int lda, const void* b, int type_b, int ldb,
                 const void* beta, void* c, int type_c, int ldc, int compute, int algorithm);
int cublasGemmStridedBatchedEx(void* handle, int op_a, int op_b, int m, int n, int k,
                               const void* alpha, const void* a, int type_a, int lda,
                               long long step_a, const void* b, int type_b, int ldb,
                               long long step_b, const void* beta, void* c, int type_c, int ldc,
                               long long step_c, int batch, int compute, int algorithm);
}

#endif  // TESSERA_TOOLS_EMULATION_CUBLAS_H_
