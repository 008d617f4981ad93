#ifndef TESSERA_QUANT_AFFINE_ROW_H_
#define TESSERA_QUANT_AFFINE_ROW_H_
// Rows of small integers with a scale and a bias: x ≈ code·scale + bias.
//
//   code = clamp(rint((x − bias)·inverse), 0, top), 0 where that product is not finite
//
// `inverse` is not exactly 1/scale: each format has its own formula for the three.
#include <bit>
#include <cstdint>

#include "quant/row_range.h"
#include "runtime/host_device.h"

namespace tessera {

struct AffineRow {
  float scale, bias, inverse;

  // FBGEMM's FusedNBitRowwise of 8 bits with f32 parameters: bias = min, scale = range/255,
  // inverse = 255/(range + 1e-8). A row whose range is not finite decodes as NaN.
  TESSERA_HD static AffineRow Fused8(const RowRange& row) {
    const float range = row.max() - row.min();
    return {range / 255.0f, row.min(), 255.0f / (range + 1e-8f)};
  }

  // REQUIRES: top < 2^22.
  TESSERA_HD uint32_t Code(float x, float top) const {
    const float z = (x - bias) * inverse, finite = z - z == 0.0f ? z : 0.0f;
    const float kept = finite < top ? finite : top;
    // Floats of this size have no fraction: the sum rounds to an integer, ties to even.
    return std::bit_cast<uint32_t>((kept > 0.0f ? kept : 0.0f) + 0x1p23f) & 0x3fffffu;
  }
  TESSERA_HD float Value(uint32_t code) const {
    return static_cast<float>(static_cast<int32_t>(code)) * scale + bias;
  }
};

}  // namespace tessera
#endif  // TESSERA_QUANT_AFFINE_ROW_H_
