#ifndef TESSERA_RUNTIME_MATH_H_
#define TESSERA_RUNTIME_MATH_H_
// The few functions beyond + − × ÷ that an update may use: the same code, hence the same bits, on
// every machine.
#include <cmath>
#include <cstdint>

#include "runtime/host_device.h"

namespace tessera {

// Correctly rounded, as IEEE 754 asks; a Pack (runtime/simd.h) has its own overload.
TESSERA_HD float Sqrt(float x) {
#if defined(__CUDA_ARCH__)
  return __fsqrt_rn(x);
#else
  return __builtin_sqrtf(x);
#endif
}

// base^n by repeated squaring. REQUIRES: n >= 0.
TESSERA_HD double PowInteger(double base, int64_t n) {
  double power = 1.0;
  for (; n > 0; n >>= 1) {
    if (n & 1) power *= base;
    base *= base;
  }
  return power;
}

}  // namespace tessera
#endif  // TESSERA_RUNTIME_MATH_H_
