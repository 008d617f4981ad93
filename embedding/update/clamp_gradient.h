#ifndef TESSERA_EMBEDDING_UPDATE_CLAMP_GRADIENT_H_
#define TESSERA_EMBEDDING_UPDATE_CLAMP_GRADIENT_H_
// A gradient as f32, with every element clamped to ± a limit; NaN stays NaN.
#include "embedding/lookup/element.h"
#include "runtime/base/host_device.h"
#include "runtime/tensor.h"

namespace tessera::internal {

Tensor ClampGradient(Context& ctx, const Tensor& gradient, float limit);

struct ClampElement {
  const void* gradient;
  DType type;
  float* clamped;
  float limit;
  TESSERA_HD void operator()(int64_t i) const {
    const float x = LoadElement(gradient, type, i);
    clamped[i] = x < -limit ? -limit : x > limit ? limit : x;
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_CLAMP_GRADIENT_H_
