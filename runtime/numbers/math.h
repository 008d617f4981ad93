#ifndef TESSERA_RUNTIME_NUMBERS_MATH_H_
#define TESSERA_RUNTIME_NUMBERS_MATH_H_
// The functions beyond + − × ÷ that a training may use: the same code, hence the same bits, on
// every machine, CPU and GPU. The machine's own exp, log and cos (<cmath>) differ from one C
// library to another. Loops over floats take exp, sigmoid and tanh from
// runtime/ops/kernels/vector_math.h.
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

// 2^n. REQUIRES: the result is a normal number.
TESSERA_HD double PowerOfTwo(int64_t n) {
  return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
}

// 2^x, to a few units in the last place of a double; 0 below −1022, infinity from 1024 on.
TESSERA_HD double Exp2(double x) {
  if (!(x > -1022.0)) return x <= -1022.0 ? 0.0 : x;
  if (x >= 1024.0) return static_cast<double>(INFINITY);
  const auto whole = static_cast<int64_t>(x < 0 ? x - 0.5 : x + 0.5);
  const double y = (x - static_cast<double>(whole)) * 0.69314718055994531;  // |y| < 0.35
  double power = 1.0;  // Taylor's series of e^y, from its small end
  for (int n = 14; n > 0; --n) power = 1.0 + power * y / n;
  return power * PowerOfTwo(whole);
}

// Σ terms[k]·x^k, as two chains, of the even and of the odd k, which a processor runs beside each
// other.
template <int kCount>
TESSERA_HD double Polynomial(const double (&terms)[kCount], double x) {
  static_assert(kCount % 2 == 0);
  const double square = x * x;
  double even = terms[kCount - 2], odd = terms[kCount - 1];
  for (int k = kCount - 4; k >= 0; k -= 2) {
    even = even * square + terms[k];
    odd = odd * square + terms[k + 1];
  }
  return even + odd * x;
}

// ln 2 in two parts: a whole number below 2^20 times the first is exact.
inline constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;

// e^x within 1 unit in the last place of a double; the numbers below 2^−1022 are rounded twice.
TESSERA_HD double Exp(double x) {
  if (!(x > -746.0)) return x <= -746.0 ? 0.0 : x;
  if (x > 710.0) return static_cast<double>(INFINITY);
  const auto whole = static_cast<int64_t>(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
  const auto n = static_cast<double>(whole);
  const double r = (x - n * kLn2High) - n * kLn2Low;  // e^x = 2^n·e^r, |r| < 0.35
  // Taylor's series of (e^r − 1 − r) / r².
  constexpr double kTerms[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                               1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                               1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
  const double power = 1.0 + (r + r * r * Polynomial(kTerms, r));
  const int64_t half = whole / 2;
  return power * PowerOfTwo(half) * PowerOfTwo(whole - half);
}

// A positive normal number as m·2^exponent, m from √½ to √2.
struct SplitNumber {
  double m;
  int64_t exponent;
};
TESSERA_HD SplitNumber SplitExponent(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const auto exponent = static_cast<int64_t>(bits >> 52) - 1023;
  const double m = std::bit_cast<double>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.4142135623730951) return {m * 0.5, exponent + 1};
  return {m, exponent};
}

// Logarithm of a positive normal number, to a few units in the last place.
TESSERA_HD double Log2(double x) {
  const auto [m, exponent] = SplitExponent(x);
  const double s = (m - 1.0) / (m + 1.0), square = s * s;  // ln m = 2·artanh(s), s² < 0.03
  double sum = 0.0;
  for (int n = 23; n > 0; n -= 2) sum = sum * square + 1.0 / n;
  return static_cast<double>(exponent) + 2.0 * s * sum * 1.4426950408889634;
}

// Natural logarithm within 1 unit in the last place of a double; −infinity of 0, NaN below.
TESSERA_HD double Log(double x) {
  if (!(x > 0.0)) return x == 0.0 ? -static_cast<double>(INFINITY) : static_cast<double>(NAN);
  if (x == static_cast<double>(INFINITY)) return x;
  const bool tiny = x < 0x1p-1022;
  const auto [m, exponent] = SplitExponent(tiny ? x * 0x1p54 : x);
  const double n = static_cast<double>(tiny ? exponent - 54 : exponent);
  const double f = m - 1.0, s = f / (m + 1.0), square = s * s;
  constexpr double kTerms[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                               2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
  // ln m = 2·artanh(s) = 2s + s·rest, and 2s = f − s·f, where f is exact.
  const double rest = square * Polynomial(kTerms, square);
  return n * kLn2High - ((s * (f - rest) - n * kLn2Low) - f);
}

// ln(1 + x) within 2 units in the last place of a double; −infinity of −1, NaN below.
TESSERA_HD double Log1p(double x) {
  if (!(x > -1.0) || x > 1e300) return Log(1.0 + x);
  if (x < 1e-16 && x > -1e-16) return x;
  const double y = 1.0 + x;
  const double lost = x < 1.0 ? x - (y - 1.0) : 1.0 - (y - x);  // by the rounding of y
  return Log(y) + lost / y;
}

// cos(π·x), to 1e−15. REQUIRES: 0 <= x <= 2.
TESSERA_HD double CosPi(double x) {
  if (x > 1.0) x = 2.0 - x;
  const bool obtuse = x > 0.5;
  const double y = 3.141592653589793 * (obtuse ? 1.0 - x : x), square = y * y;
  double sum = 1.0;  // Taylor's series, from its small end
  for (int n = 22; n > 0; n -= 2) sum = 1.0 - sum * square / (n * (n - 1));
  return obtuse ? -sum : sum;
}

// x^y. REQUIRES: x is positive and normal.
TESSERA_HD double Pow(double x, double y) { return Exp2(y * Log2(x)); }

}  // namespace tessera
#endif  // TESSERA_RUNTIME_NUMBERS_MATH_H_
