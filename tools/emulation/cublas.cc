#include "tools/emulation/cublas.h"

#include <bit>
#include <cstdint>

#include "tools/emulation/emulation.h"

namespace {

constexpr int kSuccess = 0, kInvalidValue = 7;
constexpr int kF32 = 0, kBf16 = 14;  // CUDA_R_32F, CUDA_R_16BF

struct Handle {
  void* stream = nullptr;
};

// A column-major matrix, transposed if `op` is not 0, of f32 or bf16.
struct Matrix {
  const void* data;
  int type;
  long long first, ld;
  int op;
  float operator()(long long row, long long column) const {
    const long long at = first + (op == 0 ? column * ld + row : row * ld + column);
    if (type == kF32) return static_cast<const float*>(data)[at];
    return std::bit_cast<float>(uint32_t{static_cast<const uint16_t*>(data)[at]} << 16);
  }
};

void Multiply(int m, int n, int k, float alpha, const Matrix& a, const Matrix& b, float beta,
              float* c, long long ldc) {
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += a(i, l) * b(l, j);
      float& element = c[j * ldc + i];
      element = alpha * sum + (beta == 0 ? 0 : beta * element);
    }
}

}  // namespace

int cublasCreate_v2(void** handle) {
  *handle = new Handle;
  return kSuccess;
}
int cublasSetStream_v2(void* handle, void* stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return kSuccess;
}
int cublasSetWorkspace_v2(void*, void*, size_t) { return kSuccess; }

int cublasGemmEx(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                 const void* a, int type_a, int lda, const void* b, int type_b, int ldb,
                 const void* beta, void* c, int type_c, int ldc, int compute, int algorithm) {
  return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, 0, b,
                                    type_b, ldb, 0, beta, c, type_c, ldc, 0, 1, compute, algorithm);
}

int cublasGemmStridedBatchedEx(void* handle, int op_a, int op_b, int m, int n, int k,
                               const void* alpha, const void* a, int type_a, int lda,
                               long long step_a, const void* b, int type_b, int ldb,
                               long long step_b, const void* beta, void* c, int type_c, int ldc,
                               long long step_c, int batch, int /*compute*/, int /*algorithm*/) {
  if (m < 0 || n < 0 || k < 0 || batch < 0 || lda < (op_a == 0 ? m : k) ||
      ldb < (op_b == 0 ? k : n) || ldc < m || (type_a != kF32 && type_a != kBf16) ||
      type_b != type_a || type_c != kF32)
    return kInvalidValue;
  const auto number = [](const void* p) { return *static_cast<const float*>(p); };
  cuda_emulation::Enqueue(static_cast<Handle*>(handle)->stream, [=, alpha = number(alpha),
                                                                 beta = number(beta)] {
    for (int i = 0; i < batch; ++i)
      Multiply(m, n, k, alpha, {a, type_a, i * step_a, lda, op_a},
               {b, type_b, i * step_b, ldb, op_b}, beta, static_cast<float*>(c) + i * step_c, ldc);
  });
  return kSuccess;
}
