#include "runtime/ops/kernels/chunked_sum.cuh"

namespace tessera::internal {

TESSERA_CHUNKED_SUM_ON_CUDA(NumbersOf<float>);
TESSERA_CHUNKED_SUM_ON_CUDA(NumbersOf<double>);

}  // namespace tessera::internal
