#ifndef TESSERA_EMBEDDING_UPDATE_ANY_VECTOR_CUH_
#define TESSERA_EMBEDDING_UPDATE_ANY_VECTOR_CUH_
// Elements of rows and states whose type, f32, f16 or bf16, is known when a kernel runs: loaded as
// they lie, widened, narrowed and stored. For .cu files.
#include <bit>
#include <cstdint>

#include "runtime/numbers/dtype.h"
#include "runtime/vector.cuh"

namespace tessera::internal {

__device__ __forceinline__ void StoreBits16(void* p, int64_t i, uint16_t bits) {
  static_cast<uint16_t*>(p)[i] = bits;
}
__device__ __forceinline__ void StoreOne(void* p, DType type, int64_t i, float value) {
  if (type == DType::kF32)
    static_cast<float*>(p)[i] = value;
  else
    StoreBits16(p, i, type == DType::kF16 ? BitsAs(value, Half()) : BitsAs(value, BFloat16()));
}

template <int kWidth>
__device__ __forceinline__ Vector<kWidth> LoadAny(const void* p, DType type, int64_t i) {
  if (type == DType::kF32) return LoadVector<kWidth>(static_cast<const float*>(p) + i);
  if (type == DType::kF16) return LoadVector<kWidth>(static_cast<const Half*>(p) + i);
  return LoadVector<kWidth>(static_cast<const BFloat16*>(p) + i);
}

// kWidth elements of any type, or one, as they lie in memory.
struct RawAny {
  uint4 v;
};
template <int kWidth>
__device__ __forceinline__ RawAny LoadRawAny(const void* p, DType type, int64_t i) {
  RawAny raw = {};
  if constexpr (kWidth == 4) {
    if (type == DType::kF32) {
      raw.v = *reinterpret_cast<const uint4*>(static_cast<const float*>(p) + i);
    } else {
      const uint2 two = *reinterpret_cast<const uint2*>(static_cast<const uint16_t*>(p) + i);
      raw.v.x = two.x;
      raw.v.y = two.y;
    }
  } else {
    raw.v.x = type == DType::kF32 ? static_cast<const uint32_t*>(p)[i]
                                  : uint32_t{static_cast<const uint16_t*>(p)[i]};
  }
  return raw;
}
__device__ __forceinline__ float FloatOf(uint32_t bits) { return std::bit_cast<float>(bits); }
template <int kWidth>
__device__ __forceinline__ Vector<kWidth> WidenAny(const RawAny& raw, DType type) {
  if constexpr (kWidth == 4) {
    if (type == DType::kF32)
      return {{FloatOf(raw.v.x), FloatOf(raw.v.y), FloatOf(raw.v.z), FloatOf(raw.v.w)}};
    return WidenAs<4>(RawVector<4, uint16_t>{{raw.v.x, raw.v.y}}, type);
  } else {
    if (type == DType::kF32) return {{FloatOf(raw.v.x)}};
    return WidenAs<1>(RawVector<1, uint16_t>{static_cast<uint16_t>(raw.v.x)}, type);
  }
}

// 16-bit elements, as their bits.
template <int kWidth>
__device__ __forceinline__ void StoreBits(void* p, int64_t i, const uint32_t* bits) {
  if constexpr (kWidth == 1)
    StoreBits16(p, i, static_cast<uint16_t>(bits[0]));
  else
    *reinterpret_cast<uint2*>(static_cast<uint16_t*>(p) + i) =
        uint2{bits[0] | bits[1] << 16, bits[2] | bits[3] << 16};
}

template <int kWidth>
__device__ __forceinline__ void StoreAny(void* p, DType type, int64_t i,
                                         const Vector<kWidth>& value) {
  if (type == DType::kF32) return StoreVector(static_cast<float*>(p) + i, value);
  uint32_t bits[kWidth];
#pragma unroll
  for (int k = 0; k < kWidth; ++k)
    bits[k] = type == DType::kF16 ? BitsAs(value.v[k], Half()) : BitsAs(value.v[k], BFloat16());
  StoreBits<kWidth>(p, i, bits);
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_ANY_VECTOR_CUH_
