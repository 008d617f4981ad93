#ifndef TESSERA_QUANT_MX4_H_
#define TESSERA_QUANT_MX4_H_
// MX4: groups of up to 32 numbers that share a power of two, each stored in 4 bits (E2M1: a sign
// and one of 0, ½, 1, 1½, 2, 3, 4, 6).
//
//   s = clamp(round(log2 m) − 2, −127, 125), m the group's largest magnitude; code = nearest of
//   |x|/2^s, ties away from zero, at most 6. The group's exponent byte is s + 127.
//
// −0 decodes as +0; NaN is stored as ±6·2^s.
#include <bit>
#include <cstdint>

#include "runtime/base/host_device.h"

namespace tessera {

inline constexpr int kMx4Group = 32;

// How log2 m becomes an integer: it goes up where m / 2^⌊log2 m⌋ is
enum class Mx4Rounding {
  kEven,     // above 1¾; TorchRec's
  kFloor,    // never
  kCeil,     // above 1
  kNearest,  // √2 and more
};

// Returns what is added to a magnitude's bits so that its exponent field becomes the rounded one.
TESSERA_HD uint32_t Mx4RoundingBits(Mx4Rounding rounding) {
  return rounding == Mx4Rounding::kEven    ? 0x1fffffu
         : rounding == Mx4Rounding::kFloor ? 0u
         : rounding == Mx4Rounding::kCeil  ? 0x7fffffu
                                          : 0x4afb0cu;  // 1 + (2^23 − 0x4afb0c)/2^23 is above √2
}

// The exponent byte of a group whose largest magnitude has these bits.
TESSERA_HD uint32_t Mx4ExponentByte(uint32_t magnitude_bits,
                                    Mx4Rounding rounding = Mx4Rounding::kEven) {
  const uint32_t field = (magnitude_bits + Mx4RoundingBits(rounding)) >> 23;  // 127 + round(log2 m)
  const uint32_t byte = field > 2 ? field - 2 : 0;
  return byte < 252 ? byte : 252;
}

TESSERA_HD uint32_t Mx4Encode(float x, uint32_t exponent_byte) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const float z = std::bit_cast<float>(bits & 0x7fffffffu) *
                  std::bit_cast<float>((254u - exponent_byte) << 23);  // |x|·2^−s, exact
  // Counts the midpoints that z has reached: NaN has reached them all.
  const uint32_t index = 7u - (z < 0.25f) - (z < 0.75f) - (z < 1.25f) - (z < 1.75f) - (z < 2.5f) -
                         (z < 3.5f) - (z < 5.0f);
  return (bits >> 28 & 8u) | index;
}

TESSERA_HD constexpr float Mx4Decode(uint32_t code, uint32_t exponent_byte) {
  const uint32_t index = code & 7u;
  // Half the value, so that its factor 2^(s + 1) is a normal float: 0, ¼, ½, ¾, then as a float of
  // one fraction bit.
  const float half =
      index < 4 ? static_cast<float>(index) * 0.25f : std::bit_cast<float>((250u + index) << 22);
  const float value = half * std::bit_cast<float>((exponent_byte + 1u) << 23);
  return (code & 8u) != 0 && index != 0 ? -value : value;
}

}  // namespace tessera
#endif  // TESSERA_QUANT_MX4_H_
