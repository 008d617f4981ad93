#ifndef TESSERA_QUANT_HFP8_H_
#define TESSERA_QUANT_HFP8_H_
// FBGEMM's "hybrid" 8-bit floats: 1 sign, `exponent_bits` exponent (of bias `bias`), the rest
// fraction, with gradual underflow. There is no infinity and no NaN: the top exponent is an
// ordinary one, and what is larger than max_pos is stored as max_pos, NaN as +max_pos.
//
//   value = ±(1 + f/2^F)·2^(e − bias), or ±f·2^(1 − bias − F) where e is 0; F fraction bits
//
// Encoding rounds to nearest, ties to even. −0 keeps its sign.
#include <bit>
#include <cstdint>

#include "runtime/base/host_device.h"
#include "runtime/numbers/float16.h"

namespace tessera {

// REQUIRES: 1 ≤ exponent_bits ≤ 6, bias in [0, 100]; max_pos is one of the values.
struct Hfp8 {
  int exponent_bits, bias;
  float max_pos;

  TESSERA_HD uint8_t Encode(float x) const {
    const int fraction_bits = 7 - exponent_bits;
    const uint32_t bits = std::bit_cast<uint32_t>(x), largest = std::bit_cast<uint32_t>(max_pos);
    const uint32_t any = bits & 0x7fffffffu, magnitude = any < largest ? any : largest;
    const uint32_t sign = any > 0x7f800000u ? 0u : bits >> 24 & 0x80u;
    // A float whose last bit is the smallest value: a sum with it rounds to multiples of that.
    const float unit = Power(24 - bias - fraction_bits);
    const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + unit) -
                               std::bit_cast<uint32_t>(unit);
    const uint32_t normal = internal::ShiftRounded(
        magnitude - (static_cast<uint32_t>(127 - bias) << 23), 23 - fraction_bits);
    const bool is_small = magnitude < static_cast<uint32_t>(128 - bias) << 23;
    return static_cast<uint8_t>(sign | (is_small ? subnormal : normal));
  }

  TESSERA_HD float Decode(uint32_t code) const {
    const int fraction_bits = 7 - exponent_bits;
    const uint32_t magnitude = code & 0x7fu, exponent = magnitude >> fraction_bits;
    const uint32_t normal =
        (magnitude << (23 - fraction_bits)) + (static_cast<uint32_t>(127 - bias) << 23);
    const float subnormal = static_cast<float>(magnitude) * Power(1 - bias - fraction_bits);
    const uint32_t bits = exponent == 0 ? std::bit_cast<uint32_t>(subnormal) : normal;
    return std::bit_cast<float>(bits | (code & 0x80u) << 24);
  }

 private:
  TESSERA_HD static float Power(int exponent) {
    return std::bit_cast<float>(static_cast<uint32_t>(127 + exponent) << 23);
  }
};

}  // namespace tessera
#endif  // TESSERA_QUANT_HFP8_H_
