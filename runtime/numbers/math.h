#ifndef TESSERA_RUNTIME_NUMBERS_MATH_H_
#define TESSERA_RUNTIME_NUMBERS_MATH_H_
// The few functions beyond + − × ÷ that an update may use: the same code, hence the same bits, on
// every machine.
#include <bit>
#include <cmath>
#include <cstdint>

#include "runtime/base/host_device.h"

namespace tessera {

// Correctly rounded, as IEEE 754 asks; a Pack (runtime/numbers/simd.h) has its own overload.
TESSERA_HD float Sqrt(float x) {
#if defined(__CUDA_ARCH__)
  return __fsqrt_rn(x);
#else
  return __builtin_sqrtf(x);
#endif
}

// The larger and the smaller; a where b is NaN, and NaN where a is. A Pack has its own overloads,
// as of Sign.
TESSERA_HD float Max(float a, float b) { return b > a ? b : a; }
TESSERA_HD float Min(float a, float b) { return b < a ? b : a; }
// −1, 1, or x itself where it is ±0 or NaN.
TESSERA_HD float Sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }

// base^n by repeated squaring. REQUIRES: n >= 0.
TESSERA_HD double PowInteger(double base, int64_t n) {
  double power = 1.0;
  for (; n > 0; n >>= 1) {
    if (n & 1) power *= base;
    base *= base;
  }
  return power;
}

// 2^x, to a few units in the last place of a double; 0 below −1022, infinity from 1024 on.
TESSERA_HD double Exp2(double x) {
  if (!(x > -1022.0)) return x <= -1022.0 ? 0.0 : x;
  if (x >= 1024.0) return static_cast<double>(INFINITY);
  const auto whole = static_cast<int64_t>(x < 0 ? x - 0.5 : x + 0.5);
  const double y = (x - static_cast<double>(whole)) * 0.69314718055994531;  // |y| < 0.35
  double power = 1.0;  // Taylor's series of e^y, from its small end
  for (int n = 14; n > 0; --n) power = 1.0 + power * y / n;
  return power * std::bit_cast<double>(static_cast<uint64_t>(whole + 1023) << 52);
}

// Logarithm of a positive normal number, to a few units in the last place.
TESSERA_HD double Log2(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  auto exponent = static_cast<int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.4142135623730951) {  // |m − 1| is small then
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1.0) / (m + 1.0), square = s * s;  // ln m = 2·artanh(s), s² < 0.03
  double sum = 0.0;
  for (int n = 23; n > 0; n -= 2) sum = sum * square + 1.0 / n;
  return static_cast<double>(exponent) + 2.0 * s * sum * 1.4426950408889634;
}

// x^y. REQUIRES: x is positive and normal.
TESSERA_HD double Pow(double x, double y) { return Exp2(y * Log2(x)); }

}  // namespace tessera
#endif  // TESSERA_RUNTIME_NUMBERS_MATH_H_
