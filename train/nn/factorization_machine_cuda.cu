#include "runtime/ops/elementwise.cuh"
#include "runtime/ops/warp_lanes.cuh"
#include "train/nn/factorization_machine_rows.h"

namespace tessera::internal {

TESSERA_ROWS_ON_CUDA(FactorizationRow);
TESSERA_ELEMENTWISE_ON_CUDA(FactorizationSlope);

}  // namespace tessera::internal
