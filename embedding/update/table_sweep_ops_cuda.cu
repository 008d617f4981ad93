#include "embedding/update/table_sweep_ops.h"
#include "runtime/elementwise.cuh"

namespace tessera::internal {

TESSERA_ELEMENTWISE_ON_CUDA(LeadElement);
TESSERA_ELEMENTWISE_ON_CUDA(EnsembleElement);
TESSERA_ELEMENTWISE_ON_CUDA(PartMaximum);
TESSERA_ELEMENTWISE_ON_CUDA(CopyWeight);
TESSERA_ELEMENTWISE_ON_CUDA(OwedWeight);

}  // namespace tessera::internal
