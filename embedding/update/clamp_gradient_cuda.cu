#include "embedding/update/clamp_gradient.h"
#include "runtime/elementwise.cuh"

namespace tessera::internal {

TESSERA_ELEMENTWISE_ON_CUDA(ClampElement);

}  // namespace tessera::internal
