#include "embedding/update/clamp_gradient.h"
#include "runtime/launch.cuh"

namespace tessera::internal {

void ClampElements(OnCuda, Context& ctx, int64_t n, const ClampElement& clamp) {
  ForEach(ctx, n, clamp);
}

}  // namespace tessera::internal
