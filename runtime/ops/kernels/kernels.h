#ifndef TESSERA_RUNTIME_OPS_KERNELS_KERNELS_H_
#define TESSERA_RUNTIME_OPS_KERNELS_KERNELS_H_
// Loops of the dense ops, compiled once for each instruction set (*_simd.cc, tools/isa.bzl). Raw
// pointers, one thread, no allocation that outlives a call; the ops cut the work into pieces that
// don't depend on the number of threads. Each level exports its functions as tables; Chosen…() has
// those of ChosenIsa().
#include <cstdint>

#include "runtime/base/isa.h"

namespace tessera::internal {

// C[m, n] = op(A)·op(B), row-major, `ld*` elements from one row to the next. k is the length of the
// sums.
struct GemmArgs {
  const float *a, *b;
  float* c;
  int64_t m, n, k, lda, ldb, ldc;
};

struct GemmKernels {
  void (*nn)(const GemmArgs&);      // A[m, k]·B[k, n]
  void (*nt)(const GemmArgs&);      // A[m, k]·B[n, k]ᵀ
  void (*tn)(const GemmArgs&);      // A[k, m]ᵀ·B[k, n]
  void (*tn_add)(const GemmArgs&);  // C and that
};

// forward: y = f(x). backward: dx = dy·f'(x), from `saved`, which is y (relu, sigmoid, tanh) or x
// (swish).
struct ActivationKernels {
  void (*forward)(const float* x, float* y, int64_t n);
  void (*backward)(const float* saved, const float* dy, float* dx, int64_t n);
};

struct ElementwiseKernels {
  ActivationKernels relu, sigmoid, tanh, swish;
  // y[r, :] += bias (if not null); then, if relu, max(y, 0).
  void (*add_bias)(float* y, int64_t ld, int64_t rows, int64_t n, const float* bias, bool relu);
  // sums[:] += Σ_r x[r, :], rows added in chunks of kSumChunk, the chunks added in order. REQUIRES:
  // n <= kSumColumns.
  void (*column_sums)(const float* x, int64_t ld, int64_t rows, int64_t n, float* sums);
};
inline constexpr int64_t kSumChunk = 64, kSumColumns = 128;

// Rows of D elements. forward keeps mean and 1/√(variance + eps) of each row.
struct LayerNormArgs {
  const float *x, *weight, *bias;
  float *y, *mean, *rstd;
  int64_t rows, dim;
  float eps;
};
// dx (if not null), dweight[D] and dbias[D] are written.
struct LayerNormGradArgs {
  const float *x, *weight, *mean, *rstd, *dy;
  float *dx, *dweight, *dbias;
  int64_t rows, dim;
};
struct NormKernels {
  void (*forward)(const LayerNormArgs&);
  void (*backward)(const LayerNormGradArgs&);
};

#define TESSERA_DECLARE_KERNELS_(isa)           \
  namespace isa {                               \
  extern const GemmKernels kGemm;               \
  extern const ElementwiseKernels kElementwise; \
  extern const NormKernels kNorm;               \
  }
TESSERA_FOR_EACH_ISA(TESSERA_DECLARE_KERNELS_)
#undef TESSERA_DECLARE_KERNELS_

const GemmKernels& ChosenGemm();
const ElementwiseKernels& ChosenElementwise();
const NormKernels& ChosenNorm();

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_KERNELS_KERNELS_H_
