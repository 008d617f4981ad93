#include "runtime/ops/kernels/kernels.h"

#include "runtime/base/isa.h"
#include "runtime/ops/kernels/product.h"

namespace tessera::internal {

const GemmKernels& ChosenGemm() { return TESSERA_OF_CHOSEN_ISA(kGemm); }
const ProductKernels& ChosenProduct() { return TESSERA_OF_CHOSEN_ISA(kProduct); }
const ElementwiseKernels& ChosenElementwise() { return TESSERA_OF_CHOSEN_ISA(kElementwise); }
const NormKernels& ChosenNorm() { return TESSERA_OF_CHOSEN_ISA(kNorm); }

}  // namespace tessera::internal
