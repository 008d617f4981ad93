#ifndef TESSERA_RUNTIME_CUBLAS_H_
#define TESSERA_RUNTIME_CUBLAS_H_
// NVIDIA's cuBLAS, where the machine has it: nothing is linked; the shared library is looked for
// when the first product runs (libcublas.so.13, .so.12, .so). TESSERA_CUBLAS=off does without;
// TESSERA_CUBLAS=PATH names the library's file or its folder, such as pip's
// site-packages/nvidia/cublas/lib, and it is an error if cuBLAS is not there.
//
// One handle for each stream, made on first use, with a workspace of ours that is kept: products
// may be captured in a CUDA graph after one that was not, and give the same bits in every run. f32
// throughout; TF32 only under MatmulPrecision::kTf32.
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
  Status (*set_math_mode)(void* handle, int mode);
  Status (*sgemm)(void* handle, int op_a, int op_b, int m, int n, int k, const float* alpha,
                  const float* a, int lda, const float* b, int ldb, const float* beta, float* c,
                  int ldc);
  Status (*sgemm_strided_batched)(void* handle, int op_a, int op_b, int m, int n, int k,
                                  const float* alpha, const float* a, int lda, long long step_a,
                                  const float* b, int ldb, long long step_b, const float* beta,
                                  float* c, int ldc, long long step_c, int batch);
};

// cuBLAS's numbers for its options.
inline constexpr int kCublasOpN = 0, kCublasOpT = 1;
inline constexpr int kCublasDefaultMath = 0, kCublasTf32Math = 3;

// Looks for cuBLAS as `wish`, the value of TESSERA_CUBLAS, says; "" is the machine's own, and null
// where there is none. Throws Error where the wish can't be met.
const CublasFunctions* FindCublas(const std::string& wish);

// Products run by `functions` from now on; by our own kernel if null. For tests.
void UseCublas(const CublasFunctions* functions);

// Row-major C_i[m, n] = op(A_i)·op(B_i) for i < batch; `step_*` elements from one matrix to the
// next.
struct SgemmArgs {
  bool transpose_a, transpose_b;
  int64_t m, n, k;
  const float* a;
  int64_t lda, step_a;
  const float* b;
  int64_t ldb, step_b;
  float* c;
  int64_t ldc, step_c;
  int64_t batch;
};
// Puts the product on ctx's stream; false, and nothing, without cuBLAS or for sizes beyond its int.
// Throws Error with cuBLAS's status if it fails. REQUIRES: nothing is empty.
bool CublasSgemm(Context& ctx, const SgemmArgs& args);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_CUBLAS_H_
