#ifndef TESSERA_EMBEDDING_QUANTIZED_ROW_NUMBERS_CUH_
#define TESSERA_EMBEDDING_QUANTIZED_ROW_NUMBERS_CUH_
// kWidth neighbouring numbers of a stored row, as a lane of a kernel reads them: what is loaded,
// then quant/'s formulas. For .cu files.
#include <bit>
#include <type_traits>
#include <utility>

#include "quant/row_formulas.h"
#include "quant/row_layout.h"
#include "runtime/vector.cuh"

namespace tessera::internal {

// The next kBytes bytes (1, 2 or 4), low byte first; `aligned` to as many, or of any alignment.
template <int kBytes>
__device__ __forceinline__ uint32_t LoadBits(const uint8_t* p, bool aligned) {
  if constexpr (kBytes == 1) return *p;
  if (aligned) {
    if constexpr (kBytes == 2) return *reinterpret_cast<const uint16_t*>(p);
    if constexpr (kBytes == 4) return *reinterpret_cast<const uint32_t*>(p);
  }
  uint32_t bits = 0;
#pragma unroll
  for (int b = 0; b < kBytes; ++b) bits |= static_cast<uint32_t>(p[b]) << (8 * b);
  return bits;
}

// A row as loaded: words with the codes of a lane's columns, and the row's parameters; zeros stand
// for a row of zeros.
template <int kWords>
struct RawAffine {
  uint32_t codes[kWords], params[2];
};

// Words of codes of a lane that has kWidth columns of kBits. Where it has 16 of 8 bits, these are
// 16 bytes at a multiple of 16, and 2 words behind them, as codes may begin up to 2 words later.
template <int kWidth, int kBits>
constexpr int kCodeWords = kWidth == 16 && kBits == 8 ? 6
                           : kWidth == 16             ? kBits / 2
                                                      : 1;

template <int kWords>
__device__ __forceinline__ void LoadWords(const uint8_t* p, uint32_t* words) {
  if constexpr (kWords == 4) {
    const uint4 four = *reinterpret_cast<const uint4*>(p);
    words[0] = four.x;
    words[1] = four.y;
    words[2] = four.z;
    words[3] = four.w;
  } else if constexpr (kWords == 2) {
    const uint2 two = *reinterpret_cast<const uint2*>(p);
    words[0] = two.x;
    words[1] = two.y;
  } else {
    words[0] = *reinterpret_cast<const uint32_t*>(p);
  }
}

// 16 columns of a row that is aligned as WideRows (quantized_lookup_cuda.cu) says. Whatever the
// layout, the same loads: a branch among them would wait for the row before. So 8 bytes are loaded
// for parameters of 4, and what lies behind 16 codes, needed or not.
template <int kBits>
__device__ __forceinline__ RawAffine<kCodeWords<16, kBits>> LoadWideAffine(const uint8_t* row,
                                                                           const RowLayout& layout,
                                                                           int column) {
  RawAffine<kCodeWords<16, kBits>> raw = {};
  const uint8_t* codes = row + layout.codes_at + int64_t{column} * kBits / 8;
  LoadWords<2>(row + layout.params_at, raw.params);
  if constexpr (kBits == 8) {
    const uint8_t* aligned = codes - layout.codes_at % 16;
    LoadWords<4>(aligned, raw.codes);
    LoadWords<2>(aligned + 16, raw.codes + 4);
  } else {
    LoadWords<1>(codes, raw.codes);
    if constexpr (kBits == 4) LoadWords<1>(codes + 4, raw.codes + 1);
  }
  return raw;
}

// kWidth is 4 or 1; with 1 the column may lie inside a byte.
template <int kWidth, int kBits>
__device__ __forceinline__ RawAffine<1> LoadAffine(const uint8_t* row, const RowLayout& layout,
                                                   int column, bool aligned) {
  const uint8_t *params = row + layout.params_at,
                *codes = row + layout.codes_at + int64_t{column} * kBits / 8;
  RawAffine<1> raw = {};
  raw.params[0] = LoadBits<4>(params, aligned);
  if (layout.f32_params) raw.params[1] = LoadBits<4>(params + 4, aligned);
  if constexpr (kWidth == 1)
    raw.codes[0] = static_cast<uint32_t>(*codes) >> (column * kBits % 8);
  else
    raw.codes[0] = LoadBits<kWidth * kBits / 8>(codes, aligned);
  return raw;
}

template <int kWidth, int kBits>
__device__ __forceinline__ Vector<kWidth> AffineNumbers(
    const RawAffine<kCodeWords<kWidth, kBits>>& raw, const RowLayout& layout) {
  const uint32_t both = raw.params[0];
  const AffineRow affine =
      layout.f32_params
          ? AffineRow{std::bit_cast<float>(both), std::bit_cast<float>(raw.params[1]), 0.0f}
          : AffineRow{WidenHalf(static_cast<uint16_t>(both)),
                      WidenHalf(static_cast<uint16_t>(both >> 16)), 0.0f};
  constexpr int kPerWord = kWidth < 32 / kBits ? kWidth : 32 / kBits;
  constexpr uint32_t kMask = (1u << kBits) - 1;
  const int late = kCodeWords<kWidth, kBits> == 6 ? layout.codes_at / 4 % 4 : 0;  // words
  Vector<kWidth> x;
#pragma unroll
  for (int w = 0; w < kWidth / kPerWord; ++w) {
    uint32_t word = raw.codes[w];
    if constexpr (kCodeWords<kWidth, kBits> == 6)
      word = late == 0 ? word : late == 1 ? raw.codes[w + 1] : raw.codes[w + 2];
#pragma unroll
    for (int k = 0; k < kPerWord; ++k)
      x.v[w * kPerWord + k] = affine.Value(word >> (k * kBits) & kMask);
  }
  return x;
}

// Bytes of a lane's columns.
template <int kWidth>
struct RawBytes {
  uint32_t words[(kWidth + 3) / 4];
};

template <int kWidth>
__device__ __forceinline__ RawBytes<kWidth> LoadBytes(const uint8_t* p, bool aligned) {
  RawBytes<kWidth> raw;
  if constexpr (kWidth == 16)
    LoadWords<4>(p, raw.words);
  else
    raw.words[0] = LoadBits<kWidth>(p, aligned);
  return raw;
}

template <int kWidth, typename Code>
__device__ __forceinline__ Vector<kWidth> ByteNumbers(const Code& code,
                                                      const RawBytes<kWidth>& raw) {
  Vector<kWidth> x;
#pragma unroll
  for (int k = 0; k < kWidth; ++k)
    x.v[k] = code.Decode(static_cast<uint8_t>(raw.words[k / 4] >> (8 * (k % 4))));
  return x;
}

// The bytes of kWidth codes of a group, low byte first, and its exponent. Zeros stand for zeros.
struct RawMx4 {
  uint32_t codes, exponent;
};

using Mx4Code = BlockCode<Mx4Block<Mx4Rounding::kEven>>;

template <int kWidth>
__device__ __forceinline__ RawMx4 LoadMx4(const uint8_t* row, int column, int dim) {
  const int begin = column / kMx4Group * kMx4Group, place = column - begin,
            size = dim - begin < kMx4Group ? dim - begin : kMx4Group;
  const uint8_t* group = row + column / kMx4Group * Mx4Code::BlockBytes(kMx4Group);
  RawMx4 raw = {group[place / 2], group[Mx4Code::ParamsAt(size)]};
  if constexpr (kWidth == 4) raw.codes |= static_cast<uint32_t>(group[place / 2 + 1]) << 8;
  if constexpr (kWidth == 1) raw.codes >>= place % 2 * 4;
  return raw;
}

template <int kWidth>
__device__ __forceinline__ Vector<kWidth> Mx4Numbers(const RawMx4& raw) {
  const Mx4Block<Mx4Rounding::kEven> block = {raw.exponent};
  Vector<kWidth> x;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) x.v[k] = block.Value(raw.codes >> (4 * k) & 15u);
  return x;
}

// The columns of a lane where rows are aligned for it: 16 bytes of f32 or 16 bits, else 16 codes.
constexpr int WideWidthOf(RowReading reading) {
  switch (reading) {
    case RowReading::kF32:
    case RowReading::kMx4:
      return 4;
    case RowReading::kF16:
    case RowReading::kBF16:
      return 8;
    default:
      return 16;
  }
}

// How a lane reads columns [column, column + kWidth) of rows. `aligned`: rows, codes and parameters
// to 4 bytes, and rows of f32 and of 16 bits to kWidth numbers. REQUIRES: kWidth columns are left,
// unless there are none; kWidth is WideWidthOf(kReading), 4 or 1; column is a multiple of it.
template <int kWidthOf, RowReading kReading>
struct StoredRowReader {
  static constexpr int kWidth = kWidthOf;
  static constexpr bool kStagesIds = kWidth == WideWidthOf(kReading);
  static constexpr int kAffineBits = kReading == RowReading::kAffine8   ? 8
                                     : kReading == RowReading::kAffine4 ? 4
                                     : kReading == RowReading::kAffine2 ? 2
                                                                        : 0;
  static constexpr bool kBytes = kReading == RowReading::kHfp8 || kReading == RowReading::kE4M3 ||
                                 kReading == RowReading::kE5M2;
  using Element =
      std::conditional_t<kReading == RowReading::kF32, float,
                         std::conditional_t<kReading == RowReading::kF16, Half, BFloat16>>;

  const uint8_t* rows;
  const RowLayout& layout;
  int column, dim;
  bool aligned, has_columns;

  __device__ __forceinline__ int64_t row_bytes() const { return layout.row_bytes; }
  __device__ __forceinline__ auto Load(int64_t offset) const {
    const uint8_t* row = rows + offset;
    if constexpr (kAffineBits > 0 && kWidth == 16)
      return LoadWideAffine<kAffineBits>(row, layout, column);
    else if constexpr (kAffineBits > 0)
      return LoadAffine<kWidth, kAffineBits>(row, layout, column, aligned);
    else if constexpr (kBytes)
      return LoadBytes<kWidth>(row + column, aligned);
    else if constexpr (kReading == RowReading::kMx4)
      return LoadMx4<kWidth>(row, column, dim);
    else
      return LoadRaw<kWidth>(reinterpret_cast<const Element*>(row) + column);
  }
  using Raw = decltype(std::declval<const StoredRowReader&>().Load(0));

  __device__ __forceinline__ Vector<kWidth> Numbers(const Raw& raw) const {
    if constexpr (kAffineBits > 0)
      return AffineNumbers<kWidth, kAffineBits>(raw, layout);
    else if constexpr (kReading == RowReading::kHfp8)
      return ByteNumbers<kWidth>(Hfp8Code<false>(), raw);
    else if constexpr (kReading == RowReading::kE4M3)
      return ByteNumbers<kWidth>(OcpFp8Code<E4M3>(), raw);
    else if constexpr (kReading == RowReading::kE5M2)
      return ByteNumbers<kWidth>(OcpFp8Code<E5M2>(), raw);
    else if constexpr (kReading == RowReading::kMx4)
      return Mx4Numbers<kWidth>(raw);
    else
      return Widen(raw);
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_QUANTIZED_ROW_NUMBERS_CUH_
