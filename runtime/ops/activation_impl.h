#ifndef TESSERA_RUNTIME_OPS_ACTIVATION_IMPL_H_
#define TESSERA_RUNTIME_OPS_ACTIVATION_IMPL_H_
// Activations on the devices.
#include "runtime/context.h"
#include "runtime/ops/kernels/activation_formulas.h"

namespace tessera::internal {

enum class ActivationKind { kRelu, kSigmoid, kTanh, kSwish };

// y[i] = f(x[i]), i < n.
void Activate(OnCpu, Context& ctx, ActivationKind kind, const float* x, float* y, int64_t n);
void Activate(OnCuda, Context& ctx, ActivationKind kind, const float* x, float* y, int64_t n);

// dx[i] = dy[i]·f'(·), from what the formula's Slope asks for.
void ActivateBackward(OnCpu, Context& ctx, ActivationKind kind, const float* saved, const float* dy,
                      float* dx, int64_t n);
void ActivateBackward(OnCuda, Context& ctx, ActivationKind kind, const float* saved,
                      const float* dy, float* dx, int64_t n);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_ACTIVATION_IMPL_H_
