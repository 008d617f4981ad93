#ifndef TESSERA_RUNTIME_OPS_KERNELS_ACTIVATION_FORMULAS_H_
#define TESSERA_RUNTIME_OPS_KERNELS_ACTIVATION_FORMULAS_H_
// Activations of one number, the same on every machine: Value is y = f(x); Slope is f'(x), from y
// for relu, sigmoid and tanh, from x for swish.
#include "runtime/ops/kernels/vector_math.h"

namespace tessera::internal {

struct ReluFormula {
  TESSERA_HD static float Value(float x) { return x < 0 ? 0.0f : x; }  // NaN stays NaN
  TESSERA_HD static float Slope(float y) { return y > 0 ? 1.0f : 0.0f; }
};

struct SigmoidFormula {
  TESSERA_HD static float Value(float x) { return VectorSigmoid(x); }
  TESSERA_HD static float Slope(float y) { return y * (1.0f - y); }
};

struct TanhFormula {
  TESSERA_HD static float Value(float x) { return VectorTanh(x); }
  TESSERA_HD static float Slope(float y) { return 1.0f - y * y; }
};

struct SwishFormula {
  TESSERA_HD static float Value(float x) { return x * VectorSigmoid(x); }
  TESSERA_HD static float Slope(float x) {
    const float s = VectorSigmoid(x);
    return s + x * s * (1.0f - s);
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_KERNELS_ACTIVATION_FORMULAS_H_
