#include "optim/clip_gradients_formulas.h"
#include "runtime/ops/kernels/warp_lanes.cuh"

namespace tessera::internal {

TESSERA_ROWS_ON_CUDA(SumPiece);
TESSERA_ROWS_ON_CUDA(SumPieces);
TESSERA_ROWS_ON_CUDA(NormOfTotals);
TESSERA_ROWS_ON_CUDA(ScalePiece);
TESSERA_ROWS_ON_CUDA(ClampPiece);

}  // namespace tessera::internal
