#include "runtime/ops/kernels/softmax_formulas.h"
#include "runtime/ops/kernels/warp_lanes.cuh"

namespace tessera::internal {

TESSERA_ROWS_ON_CUDA(SoftmaxRow);
TESSERA_ROWS_ON_CUDA(SoftmaxGradRow);

}  // namespace tessera::internal
