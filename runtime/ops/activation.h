#ifndef TESSERA_RUNTIME_OPS_ACTIVATION_H_
#define TESSERA_RUNTIME_OPS_ACTIVATION_H_
// Activations, elementwise; f32, any shape.
#include "runtime/autograd.h"

namespace tessera {

Variable Relu(Context& ctx, const Variable& x);     // max(x, 0); the gradient at 0 is 0
Variable Sigmoid(Context& ctx, const Variable& x);  // 1 / (1 + e^−x)
Variable Tanh(Context& ctx, const Variable& x);
Variable Swish(Context& ctx, const Variable& x);  // x·sigmoid(x)

}  // namespace tessera
#endif  // TESSERA_RUNTIME_OPS_ACTIVATION_H_
