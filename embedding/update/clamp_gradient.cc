#include "embedding/update/clamp_gradient.h"

#include "runtime/device/dispatch.h"
#include "runtime/for_each.h"

namespace tessera::internal {
namespace {

void ClampElements(OnCpu, Context& ctx, int64_t n, const ClampElement& clamp) {
  ForEach(OnCpu{}, ctx, n, 1 << 15, clamp);
}

}  // namespace

Tensor ClampGradient(Context& ctx, const Tensor& gradient, float limit) {
  const bool narrow = gradient.dtype() == DType::kF16 || gradient.dtype() == DType::kBF16;
  const Tensor from = (narrow ? gradient : gradient.To(ctx, DType::kF32)).Contiguous(ctx);
  Tensor clamped = Tensor::Empty(ctx, from.shape());
  DispatchDevice(ctx.device(), [&](auto on) {
    ClampElements(on, ctx, clamped.numel(),
                  {from.raw_data(), from.dtype(), clamped.data<float>(), limit});
  });
  return clamped;
}

}  // namespace tessera::internal
