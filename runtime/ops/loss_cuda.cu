#include "runtime/elementwise.cuh"
#include "runtime/ops/kernels/chunked_sum.cuh"
#include "runtime/ops/kernels/loss_formulas.h"

namespace tessera::internal {

TESSERA_CHUNKED_SUM_ON_CUDA(LossTerm<BceWithLogitsFormula>);
TESSERA_CHUNKED_SUM_ON_CUDA(LossTerm<BceFormula>);
TESSERA_CHUNKED_SUM_ON_CUDA(LossTerm<MseFormula>);

TESSERA_ELEMENTWISE_ON_CUDA(LossSlope<BceWithLogitsFormula>);
TESSERA_ELEMENTWISE_ON_CUDA(LossSlope<BceFormula>);
TESSERA_ELEMENTWISE_ON_CUDA(LossSlope<MseFormula>);

TESSERA_ELEMENTWISE_ON_CUDA(CountRow);

TESSERA_ROWS_ON_CUDA(SoftmaxLossRow);
TESSERA_ELEMENTWISE_ON_CUDA(SoftmaxSlope);

}  // namespace tessera::internal
