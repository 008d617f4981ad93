#ifndef TESSERA_RUNTIME_CUBLAS_H_
#define TESSERA_RUNTIME_CUBLAS_H_
// NVIDIA's cuBLAS, where the machine has it: nothing is linked; the shared library is looked for
// when the first product runs (libcublas.so.13, .so.12, .so). TESSERA_CUBLAS=off does without;
// TESSERA_CUBLAS=PATH names the library's file or its folder, such as pip's
// site-packages/nvidia/cublas/lib, and it is an error if cuBLAS is not there.
//
// One handle for each stream, made on first use, with a workspace of ours that is kept: products
// may be captured in a CUDA graph after one that was not, and give the same bits in every run.
// Tensors are f32; factors are rounded only under DenseProducts::kTf32 and kBf16.
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/context.h"

namespace tessera::internal {

// The functions used of cuBLAS's C interface; a status of 0 is success.
struct CublasFunctions {
  using Status = int;
  Status (*create)(void** handle);
  Status (*set_stream)(void* handle, void* stream);
  Status (*set_workspace)(void* handle, void* workspace, size_t bytes);
  Status (*gemm)(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                 const void* a, int type_a, int lda, const void* b, int type_b, int ldb,
                 const void* beta, void* c, int type_c, int ldc, int compute, int algorithm);
  Status (*gemm_strided_batched)(void* handle, int op_a, int op_b, int m, int n, int k,
                                 const void* alpha, const void* a, int type_a, int lda,
                                 long long step_a, const void* b, int type_b, int ldb,
                                 long long step_b, const void* beta, void* c, int type_c, int ldc,
                                 long long step_c, int batch, int compute, int algorithm);
};

// cuBLAS's numbers for its options.
inline constexpr int kCublasOpN = 0, kCublasOpT = 1;
inline constexpr int kCudaR32F = 0, kCudaR16Bf = 14, kCublasGemmDefault = -1;
inline constexpr int kCublasCompute32F = 68, kCublasCompute32FFastTf32 = 77;

// Looks for cuBLAS as `wish`, the value of TESSERA_CUBLAS, says; "" is the machine's own, and null
// where there is none. Throws Error where the wish can't be met.
const CublasFunctions* FindCublas(const std::string& wish);

// Products run by `functions` from now on; by our own kernel if null. For tests.
void UseCublas(const CublasFunctions* functions);

// Row-major C_i[m, n] = op(A_i)·op(B_i) for i < batch; `step_*` elements from one matrix to the
// next. C is f32, and so are A and B unless they are bf16.
struct CublasGemmArgs {
  bool transpose_a, transpose_b, bf16;
  int64_t m, n, k;
  const void* a;
  int64_t lda, step_a;
  const void* b;
  int64_t ldb, step_b;
  float* c;
  int64_t ldc, step_c;
  int64_t batch;
};
// Puts the product on ctx's stream; false, and nothing, without cuBLAS or for sizes beyond its int.
// Throws Error with cuBLAS's status if it fails, and where ctx asks for products of tensor cores
// and there is no cuBLAS. REQUIRES: nothing is empty.
bool CublasGemm(Context& ctx, const CublasGemmArgs& args);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_CUBLAS_H_
