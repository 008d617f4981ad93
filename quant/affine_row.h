#ifndef TESSERA_QUANT_AFFINE_ROW_H_
#define TESSERA_QUANT_AFFINE_ROW_H_
// Rows of small integers with a scale and a bias: x ≈ code·scale + bias.
//
//   code = clamp(rint((x − bias)·inverse), 0, top), 0 where that product is no number
//
// `inverse` is not exactly 1/scale: each format has its own formula for the three. All of them are
// FBGEMM's. A row whose range is not finite decodes as NaN.
#include <bit>
#include <cstdint>

#include "quant/row_range.h"
#include "runtime/float16.h"
#include "runtime/host_device.h"
#include "runtime/math.h"

namespace tessera {

struct AffineRow {
  float scale, bias, inverse;

  // Fused8BitRowwise, whose parameters are f32: bias = min, scale = range/255,
  // inverse = 255/(range + 1e-8).
  TESSERA_HD static AffineRow Fused8(const RowRange& row) {
    const float range = row.max() - row.min();
    return {range / 255.0f, row.min(), 255.0f / (range + 1e-8f)};
  }

  // FusedNBitRowwiseSBHalf, whose parameters are halves and codes those of the rounded ones:
  // bias = half(min), range = max − bias, scale = half(range/top), 1 where that or the range is 0;
  // inverse = 1/scale. (The range of a constant row is what rounding its bias left, of either
  // sign.)
  // `to_half`: a float rounded to a half, as a float.
  template <typename ToHalf>
  TESSERA_HD static AffineRow Halves(const RowRange& row, float top, const ToHalf& to_half) {
    const float bias = to_half(row.min()), range = row.max() - bias;
    const float rounded = to_half(range == 0.0f ? 1.0f : range / top);
    const float scale = rounded == 0.0f ? 1.0f : rounded;
    return {scale, bias, 1.0f / scale};
  }
  struct ToHalf {
    TESSERA_HD float operator()(float x) const { return static_cast<float>(Half(x)); }
  };
  TESSERA_HD static AffineRow Halves(const RowRange& row, float top) {
    return Halves(row, top, ToHalf());
  }

  // 2^23 more than the code of x, a float or a Pack. Floats of this size have no fraction: the sum
  // rounds to an integer, ties to even, which its last bits are. REQUIRES: top < 2^22.
  template <typename Real>
  TESSERA_HD Real Rounded(Real x, float top) const {
    const Real z =
        (x - Real(bias)) * Real(inverse);  // never infinite: inverse is 0 where a range is
    return Min(Real(top), Max(Real(0.0f), z)) + Real(0x1p23f);
  }
  TESSERA_HD uint32_t Code(float x, float top) const {
    return std::bit_cast<uint32_t>(Rounded(x, top)) & 0x3fffffu;
  }
  TESSERA_HD float Value(uint32_t code) const {
    return static_cast<float>(static_cast<int32_t>(code)) * scale + bias;
  }
};

}  // namespace tessera
#endif  // TESSERA_QUANT_AFFINE_ROW_H_
