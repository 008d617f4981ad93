#ifndef TESSERA_MODELS_LAYERS_INTERACTION_KERNELS_H_
#define TESSERA_MODELS_LAYERS_INTERACTION_KERNELS_H_
// The loops of the dot interaction, compiled once for each instruction set (interaction_simd.cc).
#include <cstdint>

#include "runtime/base/isa.h"

namespace tessera::internal {

// z_0 is the dense row, z_1 … z_F are the F blocks of the sparse row. y = [z_0, z_i·z_j for i < j],
// row-major. A product is one chain of fused multiply-adds in the order of the columns.
struct InteractionArgs {
  const float *dense, *sparse;  // rows `dense_stride`, `sparse_stride` apart
  float *y;                     // rows of dim + (F + 1)·F/2
  float *scratch;               // InteractionScratch floats
  int64_t rows, features, dim, dense_stride, sparse_stride;
};

// dz_i = Σ_j dy_ij·z_j with dy_ii = 0, a chain of fused multiply-adds in the order of j that begins
// with 0, and for z_0 with dy's first dim columns. ddense and dsparse are contiguous.
struct InteractionGradArgs {
  const float *dense, *sparse, *dy;
  float *ddense, *dsparse, *scratch;
  int64_t rows, features, dim, dense_stride, sparse_stride;
  bool stream = false;  // past the caches; needs rows of dz that begin at multiples of 64 bytes
};

struct InteractionKernels {
  void (*forward)(const InteractionArgs &);
  void (*backward)(const InteractionGradArgs &);
};

// Floats from one row of the transposed z, or of the products, to the next: whole registers that
// begin at any column stay inside.
constexpr int64_t InteractionPadding(int64_t n) { return n + 16; }
// Floats of scratch, enough for forward and backward.
constexpr int64_t InteractionScratch(int64_t features, int64_t dim) {
  return InteractionPadding(features + 1) * (dim + features + 1);
}

#define TESSERA_DECLARE_INTERACTION_(isa)       \
  namespace isa {                               \
  extern const InteractionKernels kInteraction; \
  }
TESSERA_FOR_EACH_ISA(TESSERA_DECLARE_INTERACTION_)
#undef TESSERA_DECLARE_INTERACTION_

}  // namespace tessera::internal
#endif  // TESSERA_MODELS_LAYERS_INTERACTION_KERNELS_H_
