#ifndef TESSERA_RUNTIME_OPS_NORM_H_
#define TESSERA_RUNTIME_OPS_NORM_H_
// Layer normalization over the last dimension.
#include "runtime/autograd.h"

namespace tessera {

// y = (x − mean)/√(variance + eps)·weight + bias, the variance biased. x [..., D], weight and bias
// [D]; f32. REQUIRES: D > 0; eps >= 0.
Variable LayerNorm(Context& ctx, const Variable& x, const Variable& weight, const Variable& bias,
                   float eps = 1e-5f);

// x·sigmoid(LayerNorm(x)).
Variable SwishLayerNorm(Context& ctx, const Variable& x, const Variable& weight,
                        const Variable& bias, float eps = 1e-5f);

// Rows of x [B, D] divided by max(‖row‖₂, eps).
Variable NormalizeRows(Context& ctx, const Variable& x, float eps = 1e-12f);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_OPS_NORM_H_
