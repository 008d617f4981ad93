#include "embedding/update/clamp_gradient.h"

#include "runtime/elementwise.h"

namespace tessera::internal {

Tensor ClampGradient(Context& ctx, const Tensor& gradient, float limit) {
  const bool narrow = gradient.dtype() == DType::kF16 || gradient.dtype() == DType::kBF16;
  const Tensor from = (narrow ? gradient : gradient.To(ctx, DType::kF32)).Contiguous(ctx);
  Tensor clamped = Tensor::Empty(ctx, from.shape());
  Elementwise(ctx, clamped.numel(),
              ClampElement{from.raw_data(), from.dtype(), clamped.data<float>(), limit});
  return clamped;
}

}  // namespace tessera::internal
