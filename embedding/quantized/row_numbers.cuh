#ifndef TESSERA_EMBEDDING_QUANTIZED_ROW_NUMBERS_CUH_
#define TESSERA_EMBEDDING_QUANTIZED_ROW_NUMBERS_CUH_
// kWidth neighbouring numbers of a stored row, as a lane of a kernel reads them: by quant/'s
// formulas. For .cu files.
#include <bit>

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

__device__ __forceinline__ AffineRow LoadAffineRow(const uint8_t* params, bool f32, bool aligned) {
  if (f32)
    return {std::bit_cast<float>(LoadBits<4>(params, aligned)),
            std::bit_cast<float>(LoadBits<4>(params + 4, aligned)), 0.0f};
  const uint32_t both = LoadBits<4>(params, aligned);
  return {WidenHalf(static_cast<uint16_t>(both)), WidenHalf(static_cast<uint16_t>(both >> 16)),
          0.0f};
}

// Codes of kBits from column on; with kWidth = 1 the column may lie inside a byte.
template <int kWidth, int kBits>
__device__ __forceinline__ Vector<kWidth> AffineNumbers(const uint8_t* row, const RowLayout& layout,
                                                        int column, bool aligned) {
  const AffineRow affine = LoadAffineRow(row + layout.params_at, layout.f32_params, aligned);
  const uint8_t* codes = row + layout.codes_at + int64_t{column} * kBits / 8;
  Vector<kWidth> x;
  constexpr uint32_t kMask = (1u << kBits) - 1;
  if constexpr (kWidth == 1) {
    x.v[0] = affine.Value(*codes >> (column * kBits % 8) & kMask);
  } else {
    const uint32_t bits = LoadBits<kWidth * kBits / 8>(codes, aligned);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) x.v[k] = affine.Value(bits >> (k * kBits) & kMask);
  }
  return x;
}

template <int kWidth, typename Code>
__device__ __forceinline__ Vector<kWidth> ByteNumbers(const Code& code, const uint8_t* bytes,
                                                      bool aligned) {
  const uint32_t bits = LoadBits<kWidth>(bytes, aligned);
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

// Columns [column, column + kWidth). `aligned`: rows, codes and parameters to 4 bytes, and rows of
// f32 and of 16 bits to kWidth numbers. REQUIRES: kWidth columns are left; kWidth is 4 or 1; column
// is a multiple of it.
template <int kWidth, RowReading kReading>
__device__ __forceinline__ Vector<kWidth> RowNumbers(const uint8_t* row, const RowLayout& layout,
                                                     int column, int dim, bool aligned) {
  if constexpr (kReading == RowReading::kF32)
    return LoadVector<kWidth>(reinterpret_cast<const float*>(row) + column);
  else if constexpr (kReading == RowReading::kF16)
    return LoadVector<kWidth>(reinterpret_cast<const Half*>(row) + column);
  else if constexpr (kReading == RowReading::kBF16)
    return LoadVector<kWidth>(reinterpret_cast<const BFloat16*>(row) + column);
  else if constexpr (kReading == RowReading::kHfp8)
    return ByteNumbers<kWidth>(Hfp8Code<false>(), row + column, aligned);
  else if constexpr (kReading == RowReading::kE4M3)
    return ByteNumbers<kWidth>(OcpFp8Code<E4M3>(), row + column, aligned);
  else if constexpr (kReading == RowReading::kE5M2)
    return ByteNumbers<kWidth>(OcpFp8Code<E5M2>(), row + column, aligned);
  else if constexpr (kReading == RowReading::kAffine8)
    return AffineNumbers<kWidth, 8>(row, layout, column, aligned);
  else if constexpr (kReading == RowReading::kAffine4)
    return AffineNumbers<kWidth, 4>(row, layout, column, aligned);
  else if constexpr (kReading == RowReading::kAffine2)
    return AffineNumbers<kWidth, 2>(row, layout, column, aligned);
  else
    return Mx4Numbers<kWidth>(row, column, dim);
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_QUANTIZED_ROW_NUMBERS_CUH_
