#include "models/layers/factorization_machine_rows.h"
#include "runtime/elementwise.cuh"
#include "runtime/ops/kernels/warp_lanes.cuh"

namespace tessera::internal {

TESSERA_ROWS_ON_CUDA(FactorizationRow);
TESSERA_ELEMENTWISE_ON_CUDA(FactorizationSlope);

}  // namespace tessera::internal
