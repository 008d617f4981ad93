#ifndef TESSERA_RUNTIME_OPS_KERNELS_SUM_FACTOR_H_
#define TESSERA_RUNTIME_OPS_KERNELS_SUM_FACTOR_H_
// The factor of a sum: a number, over one that lies on the device where there is one; 0 where that
// one is not above 0.
#include "runtime/base/host_device.h"

namespace tessera::internal {

struct SumFactor {
  double number = 1;
  const float* divisor = nullptr;
  TESSERA_HD double Value() const {
    if (divisor == nullptr) return number;
    return *divisor > 0 ? number / static_cast<double>(*divisor) : 0.0;
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_KERNELS_SUM_FACTOR_H_
