#ifndef TESSERA_MODELS_LAYERS_INTERACTION_KERNELS_H_
#define TESSERA_MODELS_LAYERS_INTERACTION_KERNELS_H_
// The loops of the dot interaction, compiled once for each instruction set (interaction_simd.cc).
#include <cstdint>

#include "runtime/base/isa.h"

namespace tessera::internal {

// z_0 is the dense row, z_1 … z_F are the F blocks of the sparse row. y = [z_0, z_i·z_j for i < j],
// row-major.
struct InteractionArgs {
  const float *dense, *sparse;  // rows `dense_stride`, `sparse_stride` apart
  float *y;                     // rows of dim + (F + 1)·F/2
  float *scratch;               // InteractionScratch floats
  int64_t rows, features, dim, dense_stride, sparse_stride;
};

// dz_i = Σ_{j≠i} dy_ij·z_j, and dz_0 += dy's first dim columns. ddense and dsparse are contiguous.
struct InteractionGradArgs {
  const float *dense, *sparse, *dy;
  float *ddense, *dsparse, *scratch;
  int64_t rows, features, dim, dense_stride, sparse_stride;
};

struct InteractionKernels {
  void (*forward)(const InteractionArgs &);
  void (*backward)(const InteractionGradArgs &);
};

// Floats from one row of the transposed z to the next: a load of a whole register at any column
// stays inside.
constexpr int64_t InteractionPadding(int64_t n) { return n + 16; }
// Floats of scratch, enough for forward and backward.
constexpr int64_t InteractionScratch(int64_t features, int64_t dim) {
  return InteractionPadding(features + 1) * dim + (features + 1) * (features + 1);
}

#define TESSERA_DECLARE_INTERACTION_(isa)       \
  namespace isa {                               \
  extern const InteractionKernels kInteraction; \
  }
TESSERA_FOR_EACH_ISA(TESSERA_DECLARE_INTERACTION_)
#undef TESSERA_DECLARE_INTERACTION_

}  // namespace tessera::internal
#endif  // TESSERA_MODELS_LAYERS_INTERACTION_KERNELS_H_
