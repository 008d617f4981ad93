#include "runtime/elementwise.cuh"

namespace tessera::internal {

TESSERA_ELEMENTWISE_ON_CUDA(AddItems);
TESSERA_ELEMENTWISE_ON_CUDA(MultiplyItems);
TESSERA_ELEMENTWISE_ON_CUDA(MultiplyAddItems);
TESSERA_ELEMENTWISE_ON_CUDA(AddRowItems);
TESSERA_ELEMENTWISE_ON_CUDA(ScaleItems);
TESSERA_ELEMENTWISE_ON_CUDA(SpreadNumber);

}  // namespace tessera::internal
