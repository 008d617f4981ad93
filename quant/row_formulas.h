#ifndef TESSERA_QUANT_ROW_FORMULAS_H_
#define TESSERA_QUANT_ROW_FORMULAS_H_
// The formulas of each code: of element codes for one number (each is stored alone, as a Stored),
// of block codes for a block of numbers (a row, or a group of a row).
//
// The bytes of a block of n numbers: codes of kBits, low bits first, filled up by zeros to a
// multiple of kCodeAlign bytes, and behind them, or in front where kFront, kParamBytes bytes of the
// block's parameters, which come from the block's range.
#include <concepts>

#include "quant/affine_row.h"
#include "quant/hfp8.h"
#include "quant/mx4.h"
#include "quant/ocp_fp8.h"
#include "quant/row_code.h"
#include "quant/value_range.h"
#include "runtime/numbers/float16.h"
#include "runtime/numbers/math.h"

namespace tessera::internal {

// ---- element codes

struct Fp32Code {
  using Stored = float;
  TESSERA_HD float Encode(float x) const { return x; }
  TESSERA_HD float Decode(float stored) const { return stored; }
};

// T(x); as it is sent, of s·x, kept within the finite numbers, and divided by s again.
template <typename T, bool kSent>
struct Float16Code {
  using Stored = T;
  float loss_scale = 1;
  TESSERA_HD static float Largest() {
    return static_cast<float>(T::FromBits(std::same_as<T, Half> ? 0x7bff : 0x7f7f));
  }
  // Scales a float or a Pack. NaN stays NaN.
  template <typename Real>
  TESSERA_HD Real Scaled(Real x) const {
    if constexpr (!kSent) return x;
    return Min(Max(x * Real(loss_scale), Real(-Largest())), Real(Largest()));
  }
  TESSERA_HD T Encode(float x) const { return T(Scaled(x)); }
  TESSERA_HD float Decode(T stored) const {
    const auto value = static_cast<float>(stored);
    return kSent ? static_cast<float>(T(value / loss_scale)) : value;
  }
};

// FBGEMM's own conversion: ties away from zero; some NaNs become infinite or 0.
struct BFloat16HalfAwayCode {
  using Stored = BFloat16;
  TESSERA_HD BFloat16 Encode(float x) const {
    return BFloat16::FromBits(static_cast<uint16_t>((std::bit_cast<uint32_t>(x) + 0x8000u) >> 16));
  }
  TESSERA_HD float Decode(BFloat16 stored) const { return static_cast<float>(stored); }
};

// Hfp8 4/15/0.9375, as it is sent; 4/7/240, as it is stored.
template <bool kSent>
struct Hfp8Code {
  using Stored = uint8_t;
  TESSERA_HD static Hfp8 Format() { return kSent ? Hfp8{4, 15, 0.9375f} : Hfp8{4, 7, 240.0f}; }
  TESSERA_HD uint8_t Encode(float x) const { return Format().Encode(x); }
  TESSERA_HD float Decode(uint8_t stored) const { return Format().Decode(stored); }
};

template <typename Format>
struct OcpFp8Code {
  using Stored = uint8_t;
  TESSERA_HD uint8_t Encode(float x) const { return Format::Encode(x); }
  TESSERA_HD float Decode(uint8_t stored) const { return Format::Decode(stored); }
};

// ---- block codes

// Bytes of any alignment.
TESSERA_HD void StoreWord(uint8_t* to, uint32_t word) {
  for (int i = 0; i < 4; ++i) to[i] = static_cast<uint8_t>(word >> (8 * i));
}
TESSERA_HD uint32_t LoadWord(const uint8_t* from) {
  return from[0] | static_cast<uint32_t>(from[1]) << 8 | static_cast<uint32_t>(from[2]) << 16 |
         static_cast<uint32_t>(from[3]) << 24;
}
TESSERA_HD void StoreParam(uint8_t* to, float x) { StoreWord(to, std::bit_cast<uint32_t>(x)); }
TESSERA_HD void StoreParam(uint8_t* to, Half x) {
  for (int i = 0; i < 2; ++i) to[i] = static_cast<uint8_t>(x.bits >> (8 * i));
}
// Loads a parameter that lies there as float or Half.
template <typename Param>
TESSERA_HD float LoadParam(const uint8_t* from) {
  if constexpr (std::same_as<Param, float>) return std::bit_cast<float>(LoadWord(from));
  return HalfBitsToFloat(static_cast<uint16_t>(from[0] | from[1] << 8));
}

// kExact: FBGEMM's Fused8, whose parameters are rounded, if they are halves, when the codes are
// known; otherwise codes are those of the rounded parameters.
template <int kCodeBits, typename BlockParam, bool kInFront, bool kExact>
struct AffineBlock {
  static constexpr int kBits = kCodeBits, kParamBytes = 2 * sizeof(BlockParam), kLargestBlock = 0;
  static constexpr int kCodeAlign = std::same_as<BlockParam, Half> && !kInFront ? 2 : 1;
  static constexpr bool kFront = kInFront, kAffine = true, kSearchable = !kExact;
  static constexpr float kTop = static_cast<float>((1 << kBits) - 1);
  using Param = BlockParam;
  AffineRow row;
  template <typename Real, typename ToHalf>
  TESSERA_HD static AffineRowOf<Real> RowOf(Real min, Real max, const ToHalf& to_half) {
    return kExact ? AffineRowOf<Real>::Fused8(min, max)
                  : AffineRowOf<Real>::Halves(min, max, kTop, to_half);
  }
  template <typename ToHalf>
  TESSERA_HD static AffineBlock Of(const ValueRange& range, const ToHalf& to_half) {
    return {RowOf(range.min(), range.max(), to_half)};
  }
  TESSERA_HD static AffineBlock Of(const ValueRange& range) {
    return Of(range, AffineRow::ToHalf());
  }
  TESSERA_HD uint32_t Code(float x) const { return row.Code(x, kTop); }
  TESSERA_HD float Value(uint32_t code) const { return row.Value(code); }
  TESSERA_HD void Store(uint8_t* params) const {
    StoreParam(params, Param(row.scale));
    StoreParam(params + sizeof(Param), Param(row.bias));
  }
  TESSERA_HD static AffineBlock Load(const uint8_t* params) {
    return {{LoadParam<Param>(params), LoadParam<Param>(params + sizeof(Param)), 0.0f}};
  }
};

// x·scale in 8 bits, scale = max_pos / max|x|.
template <int kExponentBits>
struct Hfp8Block {
  static constexpr int kBits = 8, kCodeAlign = 4, kParamBytes = 8, kLargestBlock = 0;
  static constexpr bool kFront = false, kAffine = false, kSearchable = false;
  float scale;
  TESSERA_HD static Hfp8 Format() {
    return kExponentBits == 4 ? Hfp8{4, 15, 0.9375f} : Hfp8{5, 31, 0.875f};
  }
  TESSERA_HD static Hfp8Block Of(const ValueRange& range) {
    return {Format().max_pos / (1e-20f + std::bit_cast<float>(range.magnitude_bits()))};
  }
  TESSERA_HD uint32_t Code(float x) const { return Format().Encode(x * scale); }
  TESSERA_HD float Value(uint32_t code) const { return Format().Decode(code) / scale; }
  TESSERA_HD void Store(uint8_t* params) const {
    StoreParam(params, scale);
    StoreWord(params + 4, 0);
  }
  TESSERA_HD static Hfp8Block Load(const uint8_t* params) { return {LoadParam<float>(params)}; }
};

template <Mx4Rounding kRounding>
struct Mx4Block {
  static constexpr int kBits = 4, kCodeAlign = 1, kParamBytes = 1, kLargestBlock = kMx4Group;
  static constexpr bool kFront = false, kAffine = false, kSearchable = false;
  uint32_t exponent;
  TESSERA_HD static Mx4Block Of(const ValueRange& range) {
    return {Mx4ExponentByte(range.magnitude_bits(), kRounding)};
  }
  TESSERA_HD uint32_t Code(float x) const { return Mx4Encode(x, exponent); }
  TESSERA_HD float Value(uint32_t code) const { return Mx4Decode(code, exponent); }
  TESSERA_HD void Store(uint8_t* params) const { *params = static_cast<uint8_t>(exponent); }
  TESSERA_HD static Mx4Block Load(const uint8_t* params) { return {*params}; }
};

// ---- blocks of a row

template <typename Block>
struct BlockCode {
  using Params = Block;
  static constexpr int kPerByte = 8 / Block::kBits;

  // Bytes of n codes, without and with the zeros that fill up.
  TESSERA_HD static int64_t UsedBytes(int64_t n) { return (n + kPerByte - 1) / kPerByte; }
  TESSERA_HD static int64_t CodeBytes(int64_t n) {
    return (UsedBytes(n) + Block::kCodeAlign - 1) / Block::kCodeAlign * Block::kCodeAlign;
  }
  TESSERA_HD static int64_t BlockBytes(int64_t n) { return CodeBytes(n) + Block::kParamBytes; }
  // Offsets of a block's codes and its parameters.
  TESSERA_HD static int64_t CodesAt() { return Block::kFront ? Block::kParamBytes : 0; }
  TESSERA_HD static int64_t ParamsAt(int64_t n) { return Block::kFront ? 0 : CodeBytes(n); }
  TESSERA_HD static int64_t BlockSize(int64_t row_size) {
    const bool whole = Block::kLargestBlock == 0 || row_size < Block::kLargestBlock;
    return whole ? row_size : Block::kLargestBlock;
  }
  TESSERA_HD static int64_t BlocksOf(int64_t row_size) {
    const int64_t size = BlockSize(row_size);
    return Block::kLargestBlock == 0 ? 1 : (row_size + size - 1) / size;
  }
  TESSERA_HD static int64_t RowBytes(int64_t row_size) {
    const int64_t before = BlocksOf(row_size) - 1, size = BlockSize(row_size);
    return before * BlockBytes(size) + BlockBytes(row_size - before * size);
  }
  // The byte of kPerByte codes, each of which lies in 8 bits of a word.
  template <typename Word>
  TESSERA_HD static uint8_t Packed(Word codes) {
    Word byte = codes;
    for (int k = 1; k < kPerByte; ++k) byte |= static_cast<Word>(codes >> ((8 - Block::kBits) * k));
    return static_cast<uint8_t>(byte);
  }
  // Byte b of the n codes of x.
  TESSERA_HD static uint8_t CodeByte(const Block& block, const float* x, int64_t n, int64_t b) {
    uint32_t codes = 0;
    for (int k = 0; k < kPerByte; ++k)
      if (b * kPerByte + k < n) codes |= block.Code(x[b * kPerByte + k]) << (8 * k);
    return Packed(codes);
  }
  TESSERA_HD static uint32_t CodeAt(const uint8_t* codes, int64_t i) {
    return codes[i / kPerByte] >> (i % kPerByte * Block::kBits) & ((1u << Block::kBits) - 1);
  }
};

template <typename Code>
concept ElementCode = requires {
  typename Code::Stored;
};

// Bytes of a row without padding.
template <typename Code>
TESSERA_HD int64_t RowBytesOf(int64_t row_size) {
  if constexpr (ElementCode<Code>)
    return row_size * static_cast<int64_t>(sizeof(typename Code::Stored));
  else
    return Code::RowBytes(row_size);
}

// Calls fn with the code's formulas.
template <typename Fn>
decltype(auto) VisitRowCode(const RowCode& code, Fn&& fn) {
  using Kind = RowCodeKind;
  switch (code.kind) {
    case Kind::kF16:
      return fn(Float16Code<Half, false>());
    case Kind::kBF16:
      return fn(Float16Code<BFloat16, false>());
    case Kind::kBF16HalfAway:
      return fn(BFloat16HalfAwayCode());
    case Kind::kHfp8:
      return fn(Hfp8Code<false>());
    case Kind::kE4M3:
      return fn(OcpFp8Code<E4M3>());
    case Kind::kE5M2:
      return fn(OcpFp8Code<E5M2>());
    case Kind::kSentF16:
      return fn(Float16Code<Half, true>{code.loss_scale});
    case Kind::kSentBF16:
      return fn(Float16Code<BFloat16, true>{code.loss_scale});
    case Kind::kSentHfp8:
      return fn(Hfp8Code<true>());
    case Kind::kHfp8Rows:
      return fn(BlockCode<Hfp8Block<4>>());
    case Kind::kHfp8RowsE5:
      return fn(BlockCode<Hfp8Block<5>>());
    case Kind::kInt8:
      return fn(BlockCode<AffineBlock<8, Half, true, false>>());
    case Kind::kInt4:
      return fn(BlockCode<AffineBlock<4, Half, true, false>>());
    case Kind::kInt2:
      return fn(BlockCode<AffineBlock<2, Half, true, false>>());
    case Kind::kInt8Exact:
      return fn(BlockCode<AffineBlock<8, Half, true, true>>());
    case Kind::kInt8Tail:
      return fn(BlockCode<AffineBlock<8, Half, false, false>>());
    case Kind::kInt4Tail:
      return fn(BlockCode<AffineBlock<4, Half, false, false>>());
    case Kind::kInt2Tail:
      return fn(BlockCode<AffineBlock<2, Half, false, false>>());
    case Kind::kInt8F32:
      return fn(BlockCode<AffineBlock<8, float, true, true>>());
    case Kind::kInt8F32Tail:
      return fn(BlockCode<AffineBlock<8, float, false, true>>());
    case Kind::kMx4:
      return fn(BlockCode<Mx4Block<Mx4Rounding::kEven>>());
    case Kind::kMx4Floor:
      return fn(BlockCode<Mx4Block<Mx4Rounding::kFloor>>());
    case Kind::kMx4Ceil:
      return fn(BlockCode<Mx4Block<Mx4Rounding::kCeil>>());
    case Kind::kMx4Nearest:
      return fn(BlockCode<Mx4Block<Mx4Rounding::kNearest>>());
    case Kind::kF32:
      break;
  }
  return fn(Fp32Code());
}

}  // namespace tessera::internal
#endif  // TESSERA_QUANT_ROW_FORMULAS_H_
