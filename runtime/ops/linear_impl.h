#ifndef TESSERA_RUNTIME_OPS_LINEAR_IMPL_H_
#define TESSERA_RUNTIME_OPS_LINEAR_IMPL_H_
// The parts of a linear layer that are not a product alone.
#include "runtime/tensor.h"

namespace tessera::internal {

// dz = dy where y > 0, else 0 (REQUIRES: y contiguous; without y, dz and dy are the same tensor);
// then dx = dz·W, if dx is defined.
struct LinearInputGradient {
  Tensor dy, y, dz, weight, dx;
};
void BackpropToInput(OnCpu, Context& ctx, const LinearInputGradient& g);
void BackpropToInput(OnCuda, Context& ctx, const LinearInputGradient& g);

// sums[j] += Σ_r x[r, j]: rows in chunks of kSumChunk, the chunks' sums added in order.
void ColumnSums(OnCpu, Context& ctx, const Tensor& x, const Tensor& sums);
void ColumnSums(OnCuda, Context& ctx, const Tensor& x, const Tensor& sums);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_LINEAR_IMPL_H_
