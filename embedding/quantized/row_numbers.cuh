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

// A row as loaded: a word with the codes of a lane's columns, and the row's parameters; zeros stand
// for a row of zeros.
struct RawAffine {
  uint32_t codes, params[2];
};

__device__ __forceinline__ AffineRow AffineOf(const uint32_t* params, bool f32_params) {
  if (f32_params) return {std::bit_cast<float>(params[0]), std::bit_cast<float>(params[1]), 0.0f};
  return {WidenHalf(static_cast<uint16_t>(params[0])),
          WidenHalf(static_cast<uint16_t>(params[0] >> 16)), 0.0f};
}

// kWidth is 4 or 1; with 1 the column may lie inside a byte.
template <int kWidth, int kBits>
__device__ __forceinline__ RawAffine LoadAffine(const uint8_t* row, const RowLayout& layout,
                                                int column, bool aligned) {
  const uint8_t *params = row + layout.params_at,
                *codes = row + layout.codes_at + int64_t{column} * kBits / 8;
  RawAffine raw = {};
  raw.params[0] = LoadBits<4>(params, aligned);
  if (layout.f32_params) raw.params[1] = LoadBits<4>(params + 4, aligned);
  if constexpr (kWidth == 1)
    raw.codes = static_cast<uint32_t>(*codes) >> (column * kBits % 8);
  else
    raw.codes = LoadBits<kWidth * kBits / 8>(codes, aligned);
  return raw;
}

template <int kWidth, int kBits>
__device__ __forceinline__ Vector<kWidth> AffineNumbers(const RawAffine& raw, bool f32_params) {
  const AffineRow affine = AffineOf(raw.params, f32_params);
  constexpr uint32_t kMask = (1u << kBits) - 1;
  Vector<kWidth> x;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) x.v[k] = affine.Value(raw.codes >> (k * kBits) & kMask);
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

// Bits of an affine code; 0 for other readings.
constexpr int AffineBitsOf(RowReading reading) {
  switch (reading) {
    case RowReading::kAffine8:
      return 8;
    case RowReading::kAffine4:
      return 4;
    case RowReading::kAffine2:
      return 2;
    default:
      return 0;
  }
}

// How a lane reads columns [column, column + kWidth) of rows. `aligned`: rows, codes and parameters
// to 4 bytes, and rows of f32 and of 16 bits to kWidth numbers. REQUIRES: kWidth columns are left,
// unless there are none; kWidth is WideWidthOf(kReading), 4 or 1, and with affine codes 4 or 1;
// column is a multiple of it.
template <int kWidthOf, RowReading kReading>
struct StoredRowReader {
  static constexpr int kWidth = kWidthOf, kRun = kWidth;
  static constexpr int kAffineBits = AffineBitsOf(kReading);
  static constexpr bool kBytes = kReading == RowReading::kHfp8 || kReading == RowReading::kE4M3 ||
                                 kReading == RowReading::kE5M2;
  static constexpr bool kStagesIds =
      kWidth == WideWidthOf(kReading) && (kBytes || kReading == RowReading::kMx4);
  using Element =
      std::conditional_t<kReading == RowReading::kF32, float,
                         std::conditional_t<kReading == RowReading::kF16, Half, BFloat16>>;

  const uint8_t* rows;
  const RowLayout& layout;
  int column, dim;
  bool aligned, has_columns;

  __device__ __forceinline__ int64_t row_bytes() const { return layout.row_bytes; }
  __device__ __forceinline__ int ColumnOf(int /*run*/) const { return column; }
  __device__ __forceinline__ auto Load(int64_t offset) const {
    const uint8_t* row = rows + offset;
    if constexpr (kAffineBits > 0)
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
      return AffineNumbers<kWidth, kAffineBits>(raw, layout.f32_params);
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

// Makes the compiler forget how an address of global memory was computed, so that registers hold it
// and it is not computed anew at every use.
template <typename T>
__device__ __forceinline__ T* Held(T* value) {
#if defined(__CUDACC__)
  asm volatile("" : "+l"(value));
  __builtin_assume(__isGlobal(value));
#endif
  return value;
}

// Byte k of a word as a number. Floats hold 2^23 + byte exactly, and the byte is its last bits: two
// cheap instructions, where a conversion of integers is none. `exponent`: kExponentOf23; held by a
// register, it leaves the byte's place to be a constant of the instruction.
constexpr uint32_t kExponentOf23 = 0x4b000000u;
__device__ __forceinline__ float FloatOfByte(uint32_t word, int k, uint32_t exponent) {
#if defined(__CUDACC__)
  const uint32_t bits = __byte_perm(word, exponent, 0x7440u | static_cast<uint32_t>(k));
#else
  const uint32_t bits = exponent | (word >> (8 * k) & 0xffu);
#endif
  return std::bit_cast<float>(bits) - 0x1p23f;
}

// How a lane reads 16 columns of affine codes by one load, which is aligned to its size, and what
// else it needs by a second: the row's parameters. Parameters that lie in front of the codes are
// in the first lane's load, in place of as many of its codes; its second load brings those codes,
// which lie at the row's end. So codes are in place in every lane. A lane's columns are runs of
// kRun, a word each. REQUIRES: the row is as WideRows (quantized_lookup_cuda.cu) says.
template <int kBits, bool kF32Params>
struct WideAffineReader {
  static constexpr int kWidth = 16, kPerWord = 32 / kBits, kWords = kWidth / kPerWord,
                       kParamWords = kF32Params ? 2 : 1, kRun = kPerWord, kPerByte = 8 / kBits;
  static constexpr bool kStagesIds = false;  // but where SumStaged is called

  struct Raw {
    uint32_t codes[kWords], params[kParamWords];
  };

  const RowLayout& layout;
  const uint8_t *codes, *params;
  int column, dim;
  uint32_t exponent;  // kExponentOf23, as dims are below 2^20, but not known to the compiler
  bool is_first, has_columns;

  __device__ __forceinline__ WideAffineReader(const uint8_t* rows, const RowLayout& row_layout,
                                              int first_column, int num_columns)
      : layout(row_layout),
        column(first_column),
        dim(num_columns),
        exponent(kExponentOf23 | static_cast<uint32_t>(num_columns) >> 24),
        is_first(LateBytes() > 0 && column == 0),
        has_columns(first_column < num_columns) {
    const int begin = layout.codes_at - LateBytes();
    codes = Held(rows + begin + column / 4 * kBits / 2);
    params = Held(rows + (is_first ? begin + dim / 4 * kBits / 2 : layout.params_at));
  }
  // Bytes by which codes begin behind where a lane's load may.
  __device__ __forceinline__ int LateBytes() const { return layout.codes_at % (4 * kWords); }
  __device__ __forceinline__ int64_t row_bytes() const { return layout.row_bytes; }
  __device__ __forceinline__ int ColumnOf(int run) const {
    const int at = column + run * kRun - LateBytes() / 4 * kPerWord;
    return at < 0 ? at + dim : at;
  }
  __device__ __forceinline__ Raw Load(int64_t offset) const {
    Raw raw;
    LoadWords<kWords>(codes + offset, raw.codes);
    LoadWords<kParamWords>(params + offset, raw.params);
    return raw;
  }
  __device__ __forceinline__ Vector<kWidth> Numbers(Raw raw) const {
#pragma unroll
    for (int w = 0; w < kParamWords && w < kWords; ++w)
      if (is_first) std::swap(raw.codes[w], raw.params[w]);
    const AffineRow affine = AffineOf(raw.params, kF32Params);
    Vector<kWidth> x;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const uint32_t word = raw.codes[k / kPerWord] >> (k % kPerByte * kBits) & kMask;
      const float code = FloatOfByte(word, k % kPerWord / kPerByte, exponent);
      // A code of 8 bits times a half's 11 is exact, so one rounding has the bits of two.
      x.v[k] = kF32Params ? code * affine.scale + affine.bias
                          : __builtin_fmaf(code, affine.scale, affine.bias);
    }
    return x;
  }

 private:
  static constexpr uint32_t kMask = 0x01010101u * ((1u << kBits) - 1);
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_QUANTIZED_ROW_NUMBERS_CUH_
