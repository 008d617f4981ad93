#ifndef TESSERA_QUANT_ROW_CODEC_H_
#define TESSERA_QUANT_ROW_CODEC_H_
// Codecs of the stored rows of quantized tables. Little endian; a row of D numbers is
//
//   f32, f16, bf16    D numbers, rounded to nearest, ties to even
//   bf16_half_away    the same, ties away from zero: FBGEMM's FloatToBfloat16Quantized
//   hfp8              D bytes Hfp8 4/7/240: FBGEMM's FP8 rows
//   e4m3, e5m2        D bytes of OCP's formats (ocp_fp8.h)
//   int8, int4, int2  half scale, half bias, then codes of so many bits, low bits first, made from
//                     the rounded parameters (AffineRow::Halves): the rows of TorchRec's modules
//   int8_exact        as int8, with codes made before the parameters are rounded
//                     (AffineRow::Fused8): what FBGEMM's quantize_embs writes
//   int8_tail, int4_tail, int2_tail   as int8 …, parameters behind the codes: FBGEMM's
//                     FusedNBitRowwiseSBHalf; codes fill an even number of bytes
//   int8_f32          f32 scale, f32 bias, then codes (AffineRow::Fused8)
//   int8_f32_tail     the same, parameters behind the codes: FBGEMM's Fused8BitRowwise
//   mx4               groups of 32, the last may be shorter: codes of 4 bits, low half first, then
//                     the group's exponent byte (mx4.h); mx4_floor, mx4_ceil and mx4_nearest differ
//                     in how that is rounded
//
// and zeros up to a multiple of `alignment` bytes. Numbers are decoded as f32: code·scale + bias, a
// product and a sum. All bytes and numbers are the same on every device and instruction set.
//
// Scales and biases that are not finite (a row with an infinity, a range beyond f32; beyond 65504
// in a half) make a row decode as NaN, and codes are 0 there; int8_exact, as FBGEMM's, may decode
// such a row as infinity. hfp8, e4m3, e5m2 and mx4 store larger numbers, infinity too, as their
// largest one; hfp8 and mx4 have no NaN and store it so, too. What int formats make of a NaN
// depends on its sign: look for it first (quantize_table.h).
#include <string>

#include "runtime/tensor.h"

namespace tessera {

enum class RowType {
  kF32,
  kF16,
  kBF16,
  kBF16HalfAway,
  kHfp8,
  kE4M3,
  kE5M2,
  kInt8,
  kInt4,
  kInt2,
  kInt8Exact,
  kInt8Tail,
  kInt4Tail,
  kInt2Tail,
  kInt8F32,
  kInt8F32Tail,
  kMx4,
  kMx4Floor,
  kMx4Ceil,
  kMx4Nearest,
};

struct RowCodec {
  RowType type = RowType::kF32;
  // A row's bytes are padded to a multiple of it, a power of two of at most kMaxAlignment; as
  // TorchRec's, and FBGEMM's on a GPU.
  int64_t alignment = 16;
  static constexpr int64_t kMaxAlignment = 4096;
  friend bool operator==(const RowCodec&, const RowCodec&) = default;
};
// "int8"; "int8@1" with another alignment than 16.
std::string ToString(const RowCodec& codec);
// The inverse. Throws Error for an unknown name, naming those there are, and for an alignment that
// is no power of two of at most kMaxAlignment.
RowCodec ParseRowCodec(const std::string& text);

// Bytes of a row of `dim` numbers, padding included. Throws Error for a dim whose codes do not fill
// whole bytes or that no table has (size_limits.h: kElements), and for such an alignment.
int64_t RowBytes(const RowCodec& codec, int64_t dim);
// Bytes of a row without padding.
int64_t UnpaddedRowBytes(const RowCodec& codec, int64_t dim);

// Whether rows of the type have a range to search for: int8, int4, int2 and those with _tail.
bool TakesSearch(RowType type);

struct EncodeOptions {
  // For types that TakesSearch: looks for a narrower range than [min, max]
  // with a smaller squared error (greedily; some 100 times the work). Throws Error for others.
  bool search = false;
};

// f32 [E, D] -> u8 [E, RowBytes].
Tensor EncodeRows(Context& ctx, const RowCodec& codec, const Tensor& rows,
                  const EncodeOptions& options = {});
// Encodes rows into `bytes`.
void EncodeRowsInto(Context& ctx, const RowCodec& codec, const Tensor& rows, const Tensor& bytes,
                    const EncodeOptions& options = {});
// u8 [E, RowBytes] -> f32 [E, dim].
Tensor DecodeRows(Context& ctx, const RowCodec& codec, const Tensor& bytes, int64_t dim);

}  // namespace tessera
#endif  // TESSERA_QUANT_ROW_CODEC_H_
