#ifndef TESSERA_QUANT_WIRE_FORMULAS_H_
#define TESSERA_QUANT_WIRE_FORMULAS_H_
// Private to quant/wire_codec*: what a codec does with a number (element codes: each is stored
// alone, as a Stored) or with a block of them (block codes: a row, or a group of a row).
//
// The bytes of a block of n numbers: codes of kBits, low bits first, filled up by zeros to a
// multiple of kCodeAlign bytes, then kTrailer bytes of the block's parameters, which come from the
// block's range.
#include <concepts>

#include "quant/affine_row.h"
#include "quant/hfp8.h"
#include "quant/mx4.h"
#include "quant/row_range.h"
#include "quant/wire_codec.h"
#include "runtime/float16.h"
#include "runtime/math.h"

namespace tessera::internal {

// ---- element codes

struct Fp32Code {
  using Stored = float;
  TESSERA_HD float Encode(float x) const { return x; }
  TESSERA_HD float Decode(float stored) const { return stored; }
};

template <typename T>
struct Float16Code {
  using Stored = T;
  float loss_scale;
  TESSERA_HD static float Largest() {
    return static_cast<float>(T::FromBits(std::same_as<T, Half> ? 0x7bff : 0x7f7f));
  }
  // Of a float or a Pack. NaN stays NaN.
  template <typename Real>
  TESSERA_HD Real Scaled(Real x) const {
    return Min(Max(x * Real(loss_scale), Real(-Largest())), Real(Largest()));
  }
  TESSERA_HD T Encode(float x) const { return T(Scaled(x)); }
  TESSERA_HD float Decode(T stored) const {
    return static_cast<float>(T(static_cast<float>(stored) / loss_scale));
  }
};

struct Fp8Code {
  using Stored = uint8_t;
  TESSERA_HD uint8_t Encode(float x) const { return Hfp8{4, 15, 0.9375f}.Encode(x); }
  TESSERA_HD float Decode(uint8_t stored) const { return Hfp8{4, 15, 0.9375f}.Decode(stored); }
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
TESSERA_HD void StoreFloat(uint8_t* to, float x) { StoreWord(to, std::bit_cast<uint32_t>(x)); }
TESSERA_HD float LoadFloat(const uint8_t* from) { return std::bit_cast<float>(LoadWord(from)); }

struct Int8Block {
  static constexpr int kBits = 8, kCodeAlign = 1, kTrailer = 8, kLargestBlock = 0;
  AffineRow row;
  TESSERA_HD static Int8Block Of(const RowRange& range) { return {AffineRow::Fused8(range)}; }
  TESSERA_HD uint32_t Code(float x) const { return row.Code(x, 255.0f); }
  TESSERA_HD float Value(uint32_t code) const { return row.Value(code); }
  TESSERA_HD void Store(uint8_t* trailer) const {
    StoreFloat(trailer, row.scale);
    StoreFloat(trailer + 4, row.bias);
  }
  TESSERA_HD static Int8Block Load(const uint8_t* trailer) {
    return {{LoadFloat(trailer), LoadFloat(trailer + 4), 0.0f}};
  }
};

template <int kExponentBits>
struct Fp8Block {
  static constexpr int kBits = 8, kCodeAlign = 4, kTrailer = 8, kLargestBlock = 0;
  float scale;
  TESSERA_HD static Hfp8 Format() {
    return kExponentBits == 4 ? Hfp8{4, 15, 0.9375f} : Hfp8{5, 31, 0.875f};
  }
  TESSERA_HD static Fp8Block Of(const RowRange& range) {
    return {Format().max_pos / (1e-20f + std::bit_cast<float>(range.magnitude_bits()))};
  }
  TESSERA_HD uint32_t Code(float x) const { return Format().Encode(x * scale); }
  TESSERA_HD float Value(uint32_t code) const { return Format().Decode(code) / scale; }
  TESSERA_HD void Store(uint8_t* trailer) const {
    StoreFloat(trailer, scale);
    StoreWord(trailer + 4, 0);
  }
  TESSERA_HD static Fp8Block Load(const uint8_t* trailer) { return {LoadFloat(trailer)}; }
};

struct Mx4Block {
  static constexpr int kBits = 4, kCodeAlign = 1, kTrailer = 1, kLargestBlock = kMx4Group;
  uint32_t exponent;
  TESSERA_HD static Mx4Block Of(const RowRange& range) {
    return {Mx4ExponentByte(range.magnitude_bits())};
  }
  TESSERA_HD uint32_t Code(float x) const { return Mx4Encode(x, exponent); }
  TESSERA_HD float Value(uint32_t code) const { return Mx4Decode(code, exponent); }
  TESSERA_HD void Store(uint8_t* trailer) const { *trailer = static_cast<uint8_t>(exponent); }
  TESSERA_HD static Mx4Block Load(const uint8_t* trailer) { return {*trailer}; }
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
  TESSERA_HD static int64_t BlockBytes(int64_t n) { return CodeBytes(n) + Block::kTrailer; }
  TESSERA_HD static int64_t BlockSize(int64_t row_size) {
    const bool whole = Block::kLargestBlock == 0 || row_size < Block::kLargestBlock;
    return whole ? row_size : Block::kLargestBlock;
  }
  TESSERA_HD static int64_t BlocksOf(int64_t row_size) {
    const int64_t size = BlockSize(row_size);
    return Block::kLargestBlock == 0 ? 1 : (row_size + size - 1) / size;
  }
  static int64_t RowBytes(int64_t row_size) {
    const int64_t before = BlocksOf(row_size) - 1, size = BlockSize(row_size);
    return before * BlockBytes(size) + BlockBytes(row_size - before * size);
  }
  // The byte of kPerByte codes.
  template <typename T>
  TESSERA_HD static uint8_t Packed(const T* codes) {
    uint32_t byte = 0;
    for (int k = 0; k < kPerByte; ++k) byte |= uint32_t{codes[k]} << (Block::kBits * k);
    return static_cast<uint8_t>(byte);
  }
  // Byte b of the n codes of x.
  TESSERA_HD static uint8_t CodeByte(const Block& block, const float* x, int64_t n, int64_t b) {
    uint32_t codes[kPerByte];
    for (int k = 0; k < kPerByte; ++k)
      codes[k] = b * kPerByte + k < n ? block.Code(x[b * kPerByte + k]) : 0u;
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

template <typename Code>
int64_t RowBytesOf(int64_t row_size) {
  if constexpr (ElementCode<Code>)
    return row_size * static_cast<int64_t>(sizeof(typename Code::Stored));
  else
    return Code::RowBytes(row_size);
}

// Calls fn with the codec's formulas.
template <typename Fn>
decltype(auto) VisitWireCodec(const WireCodec& codec, Fn&& fn) {
  switch (codec.type) {
    case WireType::kFp16:
      return fn(Float16Code<Half>{codec.loss_scale});
    case WireType::kBf16:
      return fn(Float16Code<BFloat16>{codec.loss_scale});
    case WireType::kFp8:
      return fn(Fp8Code());
    case WireType::kFp8Rows:
      return fn(BlockCode<Fp8Block<4>>());
    case WireType::kFp8RowsE5:
      return fn(BlockCode<Fp8Block<5>>());
    case WireType::kInt8:
      return fn(BlockCode<Int8Block>());
    case WireType::kMx4:
      return fn(BlockCode<Mx4Block>());
    case WireType::kFp32:
      break;
  }
  return fn(Fp32Code());
}

}  // namespace tessera::internal
#endif  // TESSERA_QUANT_WIRE_FORMULAS_H_
