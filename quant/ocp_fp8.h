#ifndef TESSERA_QUANT_OCP_FP8_H_
#define TESSERA_QUANT_OCP_FP8_H_
// The two 8-bit floats of the OCP specification, stored alone, without a scale:
//
//   E4M3  bias 7, largest 448, no infinity, NaN is 0x7f and 0xff
//   E5M2  bias 15, largest 57344, infinity 0x7c, NaN above it: the upper byte of an IEEE half
//
// Encoding rounds to nearest, ties to even, and saturates: what is larger, infinity too, is stored
// as the largest number. NaN stays NaN. (Not the same as Hfp8, FBGEMM's own.)
#include <bit>
#include <cstdint>

#include "quant/hfp8.h"
#include "runtime/base/host_device.h"
#include "runtime/numbers/float16.h"

namespace tessera {

namespace internal {
TESSERA_HD bool IsNanBits(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }
TESSERA_HD uint8_t EncodeOcpFp8(const Hfp8& format, uint8_t nan, float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint8_t code = format.Encode(x);
  return IsNanBits(bits) ? static_cast<uint8_t>(nan | (bits >> 24 & 0x80u)) : code;
}
}  // namespace internal

struct E4M3 {
  TESSERA_HD static uint8_t Encode(float x) {
    return internal::EncodeOcpFp8({4, 7, 448.0f}, 0x7f, x);
  }
  TESSERA_HD static float Decode(uint32_t code) {
    const float value = Hfp8{4, 7, 448.0f}.Decode(code);
    const uint32_t nan = 0x7fc00000u | (code & 0x80u) << 24;
    return (code & 0x7fu) == 0x7fu ? std::bit_cast<float>(nan) : value;
  }
};

struct E5M2 {
  TESSERA_HD static uint8_t Encode(float x) {
    return internal::EncodeOcpFp8({5, 15, 57344.0f}, 0x7e, x);
  }
  TESSERA_HD static float Decode(uint32_t code) {
    return internal::HalfBitsToFloat(static_cast<uint16_t>(code << 8));
  }
};

}  // namespace tessera
#endif  // TESSERA_QUANT_OCP_FP8_H_
