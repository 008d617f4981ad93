#include "runtime/ops/kernels/kernels.h"

#include "runtime/base/isa.h"

namespace tessera::internal {

const GemmKernels& BestGemm() { return ForBestIsa(baseline::kGemm, avx2::kGemm, avx512::kGemm); }
const ElementwiseKernels& BestElementwise() {
  return ForBestIsa(baseline::kElementwise, avx2::kElementwise, avx512::kElementwise);
}
const NormKernels& BestNorm() { return ForBestIsa(baseline::kNorm, avx2::kNorm, avx512::kNorm); }

}  // namespace tessera::internal
