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
  Tensor clamped = gradient.Clone(ctx);
  DispatchDevice(ctx.device(), [&](auto on) {
    ClampElements(on, ctx, clamped.numel(), {clamped.data<float>(), limit});
  });
  return clamped;
}

}  // namespace tessera::internal
