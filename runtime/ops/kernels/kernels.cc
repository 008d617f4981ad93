#include "runtime/ops/kernels/kernels.h"

#include "runtime/base/isa.h"
#include "runtime/ops/kernels/product.h"

namespace tessera::internal {

const GemmKernels& ChosenGemm() {
  return ForChosenIsa(baseline::kGemm, avx2::kGemm, avx512::kGemm);
}
const ProductKernels& ChosenProduct() {
  return ForChosenIsa(baseline::kProduct, avx2::kProduct, avx512::kProduct);
}
const ElementwiseKernels& ChosenElementwise() {
  return ForChosenIsa(baseline::kElementwise, avx2::kElementwise, avx512::kElementwise);
}
const NormKernels& ChosenNorm() {
  return ForChosenIsa(baseline::kNorm, avx2::kNorm, avx512::kNorm);
}

}  // namespace tessera::internal
