#ifndef TESSERA_RUNTIME_NUMBERS_FLOAT16_H_
#define TESSERA_RUNTIME_NUMBERS_FLOAT16_H_
// The two 16-bit floats that C++20 lacks. Storage only: arithmetic is done in float. Widening is
// exact; narrowing rounds to nearest, ties to even, through the subnormals, and overflows to
// infinity. NaN stays NaN: its sign and upper digits are kept, and it is made quiet (when a
// BFloat16 is widened, it is left as it is). Made of integers, so that the bits are the same on
// every machine; trivial types, so that they may lie in shared memory.
//
//   Half      1 sign, 5 exponent (bias 15), 10 fraction: IEEE binary16
//   BFloat16  1 sign, 8 exponent, 7 fraction: the upper half of a float
#include <bit>
#include <cstdint>

#include "runtime/base/host_device.h"

namespace tessera {
namespace internal {

// Shifts right by `shift` in 1 … 31, rounding to nearest, ties to even. REQUIRES: value < 2^31.
TESSERA_HD uint32_t ShiftRounded(uint32_t value, int shift) {
  return (value + ((1u << (shift - 1)) - 1) + (value >> shift & 1)) >> shift;
}

// The upper half of a float, rounded, by its bits. Bits: uint32_t, or a vector of them, which no
// GPU has: so this is constexpr, which serves a device as well, and not TESSERA_HD.
template <typename Bits>
[[gnu::always_inline]] constexpr Bits RoundToUpperHalf(Bits bits) {
  const Bits magnitude = bits & 0x7fffffffu, upper = bits >> 16;
  const Bits rounded = (bits + 0x7fffu + (upper & 1u)) >> 16;
  return magnitude > 0x7f800000u ? upper | 0x40u : rounded;
}

TESSERA_HD uint16_t FloatToHalfBits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffff;
  uint32_t rounded = 0;  // below half of the smallest subnormal
  if (magnitude > 0x7f800000)
    rounded = 0x7e00 | (magnitude >> 13 & 0x1ff);  // NaN
  else if (magnitude >= 0x477ff000)
    rounded = 0x7c00;  // 65520 and more
  else if (magnitude >= 0x38800000)
    rounded = ShiftRounded(magnitude - 0x38000000, 13);
  else if (magnitude >= 0x33000000)
    rounded =
        ShiftRounded((magnitude & 0x7fffff) | 0x800000, 126 - static_cast<int>(magnitude >> 23));
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | rounded);
}

TESSERA_HD float HalfBitsToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
  uint32_t magnitude = (exponent + 112) << 23 | fraction << 13;
  if (exponent == 31)
    magnitude = 0x7f800000 | fraction << 13 | (fraction != 0 ? 0x400000 : 0);
  else if (exponent == 0)  // a subnormal: an integer times 2^-24
    magnitude = std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24f);
  return std::bit_cast<float>(sign | magnitude);
}

}  // namespace internal

struct Half {
  uint16_t bits;
  Half() = default;
  TESSERA_HD explicit Half(float value) : bits(internal::FloatToHalfBits(value)) {}
  TESSERA_HD explicit operator float() const { return internal::HalfBitsToFloat(bits); }
  TESSERA_HD static Half FromBits(uint16_t bits) {
    Half half;
    half.bits = bits;
    return half;
  }
  TESSERA_HD friend bool operator==(Half a, Half b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  TESSERA_HD explicit BFloat16(float value)
      : bits(static_cast<uint16_t>(internal::RoundToUpperHalf(std::bit_cast<uint32_t>(value)))) {}
  TESSERA_HD explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
  TESSERA_HD static BFloat16 FromBits(uint16_t bits) {
    BFloat16 value;
    value.bits = bits;
    return value;
  }
  TESSERA_HD friend bool operator==(BFloat16 a, BFloat16 b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
};

}  // namespace tessera
#endif  // TESSERA_RUNTIME_NUMBERS_FLOAT16_H_
