#ifndef TESSERA_EMBEDDING_QUANTIZED_ROW_NUMBERS_CUH_
#define TESSERA_EMBEDDING_QUANTIZED_ROW_NUMBERS_CUH_
// kWidth neighbouring numbers of a stored row, as a lane of a kernel reads them: what is loaded,
// then quant/'s formulas. For .cu files.
#include <bit>
#include <type_traits>

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

// Codes of kBits from a column on, and the row's parameters; zeros stand for a row of zeros.
struct RawAffine {
  uint32_t codes, params[2];
};

// With kWidth = 1 the column may lie inside a byte.
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
  const uint32_t both = raw.params[0];
  const AffineRow affine =
      f32_params ? AffineRow{std::bit_cast<float>(both), std::bit_cast<float>(raw.params[1]), 0.0f}
                 : AffineRow{WidenHalf(static_cast<uint16_t>(both)),
                             WidenHalf(static_cast<uint16_t>(both >> 16)), 0.0f};
  constexpr uint32_t kMask = (1u << kBits) - 1;
  Vector<kWidth> x;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) x.v[k] = affine.Value(raw.codes >> (k * kBits) & kMask);
  return x;
}

template <int kWidth, typename Code>
__device__ __forceinline__ Vector<kWidth> ByteNumbers(const Code& code, uint32_t bits) {
  Vector<kWidth> x;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) x.v[k] = code.Decode(static_cast<uint8_t>(bits >> (8 * k)));
  return x;
}

template <int kWidth>
__device__ __forceinline__ Vector<kWidth> Mx4Numbers(const uint8_t* row, int column, int dim) {
  using Code = BlockCode<Mx4Block<Mx4Rounding::kEven>>;
  const int begin = column / kMx4Group * kMx4Group,
            size = dim - begin < kMx4Group ? dim - begin : kMx4Group;
  const uint8_t* group = row + column / kMx4Group * Code::BlockBytes(kMx4Group);
  const auto block = Code::Params::Load(group + Code::ParamsAt(size));
  Vector<kWidth> x;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) x.v[k] = block.Value(Code::CodeAt(group, column - begin + k));
  return x;
}

// How a lane reads columns [column, column + kWidth) of rows. `aligned`: rows, codes and parameters
// to 4 bytes, and rows of f32 and of 16 bits to kWidth numbers. REQUIRES: kWidth columns are left;
// kWidth is 4 or 1; column is a multiple of it.
template <int kWidthOf, RowReading kReading>
struct StoredRowReader {
  static constexpr int kWidth = kWidthOf;
  static constexpr int kAffineBits = kReading == RowReading::kAffine8   ? 8
                                     : kReading == RowReading::kAffine4 ? 4
                                     : kReading == RowReading::kAffine2 ? 2
                                                                        : 0;
  static constexpr bool kBytes = kReading == RowReading::kHfp8 || kReading == RowReading::kE4M3 ||
                                 kReading == RowReading::kE5M2;
  using Element =
      std::conditional_t<kReading == RowReading::kF32, float,
                         std::conditional_t<kReading == RowReading::kF16, Half, BFloat16>>;
  using Raw = std::conditional_t<
      (kAffineBits > 0), RawAffine,
      std::conditional_t<kBytes, RawVector<1, uint32_t>,
                         std::conditional_t<kReading == RowReading::kMx4, Vector<kWidth>,
                                            RawVector<kWidth, Element>>>>;

  const uint8_t* rows;
  const RowLayout& layout;
  int column, dim;
  bool aligned;
  bool has_columns = true;

  __device__ __forceinline__ Raw Load(int64_t id) const {
    const uint8_t* row = rows + id * layout.row_bytes;
    if constexpr (kAffineBits > 0)
      return LoadAffine<kWidth, kAffineBits>(row, layout, column, aligned);
    else if constexpr (kBytes)
      return {LoadBits<kWidth>(row + column, aligned)};
    else if constexpr (kReading == RowReading::kMx4)
      return Mx4Numbers<kWidth>(row, column, dim);
    else
      return LoadRaw<kWidth>(reinterpret_cast<const Element*>(row) + column);
  }

  __device__ __forceinline__ Vector<kWidth> Numbers(const Raw& raw) const {
    if constexpr (kAffineBits > 0)
      return AffineNumbers<kWidth, kAffineBits>(raw, layout.f32_params);
    else if constexpr (kReading == RowReading::kHfp8)
      return ByteNumbers<kWidth>(Hfp8Code<false>(), raw.v);
    else if constexpr (kReading == RowReading::kE4M3)
      return ByteNumbers<kWidth>(OcpFp8Code<E4M3>(), raw.v);
    else if constexpr (kReading == RowReading::kE5M2)
      return ByteNumbers<kWidth>(OcpFp8Code<E5M2>(), raw.v);
    else if constexpr (kReading == RowReading::kMx4)
      return raw;
    else
      return Widen(raw);
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_QUANTIZED_ROW_NUMBERS_CUH_
