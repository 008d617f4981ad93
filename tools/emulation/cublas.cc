#include "tools/emulation/cublas.h"

#include "tools/emulation/emulation.h"

namespace {

constexpr int kSuccess = 0, kInvalidValue = 7;

struct Handle {
  void* stream = nullptr;
};

// A column-major matrix, transposed if `op` is not 0.
struct Matrix {
  const float* data;
  long long ld;
  int op;
  float operator()(long long row, long long column) const {
    return op == 0 ? data[column * ld + row] : data[row * ld + column];
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
int cublasSetMathMode(void*, int) { return kSuccess; }

int cublasSgemm_v2(void* handle, int op_a, int op_b, int m, int n, int k, const float* alpha,
                   const float* a, int lda, const float* b, int ldb, const float* beta, float* c,
                   int ldc) {
  return cublasSgemmStridedBatched(handle, op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta,
                                   c, ldc, 0, 1);
}

int cublasSgemmStridedBatched(void* handle, int op_a, int op_b, int m, int n, int k,
                              const float* alpha, const float* a, int lda, long long step_a,
                              const float* b, int ldb, long long step_b, const float* beta,
                              float* c, int ldc, long long step_c, int batch) {
  if (m < 0 || n < 0 || k < 0 || batch < 0 || lda < (op_a == 0 ? m : k) ||
      ldb < (op_b == 0 ? k : n) || ldc < m)
    return kInvalidValue;
  cuda_emulation::Enqueue(static_cast<Handle*>(handle)->stream, [=, alpha = *alpha, beta = *beta] {
    for (int i = 0; i < batch; ++i)
      Multiply(m, n, k, alpha, {a + i * step_a, lda, op_a}, {b + i * step_b, ldb, op_b}, beta,
               c + i * step_c, ldc);
  });
  return kSuccess;
}
