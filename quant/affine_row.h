#ifndef TESSERA_QUANT_AFFINE_ROW_H_
#define TESSERA_QUANT_AFFINE_ROW_H_
// Rows of small integers with a scale and a bias: x ≈ code·scale + bias.
//
//   code = clamp(rint((x − bias)·inverse), 0, top), 0 where that product is no number
//
// `inverse` is not exactly 1/scale: each format has its own formula for the three. All of them are
// FBGEMM's. A row whose smallest numbers are 0 and −0 has the bias −0, where FBGEMM's may be +0:
// the same number. A row whose range is not finite decodes as NaN.
#include <bit>
#include <cstdint>

#include "quant/value_range.h"
#include "runtime/base/host_device.h"
#include "runtime/numbers/float16.h"
#include "runtime/numbers/math.h"

namespace tessera {

// x where `of` is not 0, else 1. A Pack has its own overload.
TESSERA_HD float OneWhereZero(float of, float x) { return of == 0.0f ? 1.0f : x; }

// Real: a float, or a Pack for as many rows.
template <typename Real>
struct AffineRowOf {
  Real scale, bias, inverse;

  // Fused8BitRowwise, whose parameters are f32: bias = min, scale = range/255,
  // inverse = 255/(range + 1e-8).
  TESSERA_HD static AffineRowOf Fused8(Real min, Real max) {
    const Real range = max - min, top(255.0f);
    return {range / top, min, top / (range + Real(1e-8f))};
  }

  // FusedNBitRowwiseSBHalf, whose parameters are halves and codes those of the rounded ones:
  // bias = half(min), range = max − bias, scale = half(range/top), 1 where that or the range is 0;
  // inverse = 1/scale. (The range of a constant row is what rounding its bias left, of either
  // sign.)
  // `to_half`: rounds to a half, and widens that again.
  template <typename ToHalf>
  TESSERA_HD static AffineRowOf Halves(Real min, Real max, float top, const ToHalf& to_half) {
    const Real bias = to_half(min), range = max - bias;
    const Real rounded = to_half(OneWhereZero(range, range / Real(top)));
    const Real scale = OneWhereZero(rounded, rounded);
    return {scale, bias, Real(1.0f) / scale};
  }
  struct ToHalf {
    TESSERA_HD float operator()(float x) const { return static_cast<float>(Half(x)); }
  };

  // The code of x but for clamping and rounding; never infinite: inverse is 0 where a range is.
  template <typename X>
  TESSERA_HD X Scaled(X x) const {
    return (x - X(bias)) * X(inverse);
  }
  // 2^23 more than the code of x. Floats of this size have no fraction: the sum rounds to an
  // integer, ties to even, which its last bits are. REQUIRES: top < 2^22.
  template <typename X>
  TESSERA_HD X Rounded(X x, float top) const {
    return Min(X(top), Max(X(0.0f), Scaled(x))) + X(0x1p23f);
  }
  TESSERA_HD uint32_t Code(float x, float top) const {
    return std::bit_cast<uint32_t>(Rounded(x, top)) & 0x3fffffu;
  }
  TESSERA_HD float Value(uint32_t code) const {
    return static_cast<float>(static_cast<int32_t>(code)) * scale + bias;
  }
};
using AffineRow = AffineRowOf<float>;

}  // namespace tessera
#endif  // TESSERA_QUANT_AFFINE_ROW_H_
