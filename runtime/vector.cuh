#ifndef TESSERA_RUNTIME_VECTOR_CUH_
#define TESSERA_RUNTIME_VECTOR_CUH_
// Elements that one lane of a kernel moves at a time: kWidth neighbouring elements, as floats. 4 of
// f32, or 8 of 16 bits, are 16 bytes; 4 of 16 bits are 8; else one goes alone. For .cu files.
#include "runtime/numbers/dtype.h"
#include "runtime/ptx.cuh"

namespace tessera::internal {

template <int kWidth>
struct Vector {
  float v[kWidth];
};

// Whether p is a multiple of so many bytes, as vectors of them must be.
inline bool IsAligned(const void* p, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(bytes) == 0;
}

__device__ __forceinline__ float ToFloat(float value) { return value; }
__device__ __forceinline__ float ToFloat(Half value) { return WidenHalf(value.bits); }
__device__ __forceinline__ float ToFloat(BFloat16 value) { return static_cast<float>(value); }

// kWidth elements as they lie in memory, so that many can be asked for before one is widened.
template <int kWidth, typename T>
struct RawVector;
template <typename T>
struct RawVector<1, T> {
  T v;
};
template <>
struct RawVector<4, float> {
  float4 v;
};
template <>
struct RawVector<4, Half> {
  uint2 v;
};
template <>
struct RawVector<4, BFloat16> {
  uint2 v;
};
template <>
struct RawVector<4, uint16_t> {
  uint2 v;
};
template <>
struct RawVector<8, Half> {
  uint4 v;
};
template <>
struct RawVector<8, BFloat16> {
  uint4 v;
};

// REQUIRES: p is a multiple of the size of kWidth elements.
template <int kWidth, typename T>
__device__ __forceinline__ RawVector<kWidth, T> LoadRaw(const T* p) {
  return {*reinterpret_cast<const decltype(RawVector<kWidth, T>::v)*>(p)};
}

// The two 16-bit elements of a word, the lower half first.
template <typename T>
__device__ __forceinline__ void WidenPair(uint32_t word, float* pair) {
  T low, high;
  low.bits = static_cast<uint16_t>(word);
  high.bits = static_cast<uint16_t>(word >> 16);
  pair[0] = ToFloat(low);
  pair[1] = ToFloat(high);
}

template <int kWidth, typename T>
__device__ __forceinline__ Vector<kWidth> Widen(const RawVector<kWidth, T>& raw) {
  if constexpr (kWidth == 1) {
    return {{ToFloat(raw.v)}};
  } else if constexpr (sizeof(T) == 4) {
    return {{raw.v.x, raw.v.y, raw.v.z, raw.v.w}};
  } else {
    Vector<kWidth> x;
    WidenPair<T>(raw.v.x, x.v);
    WidenPair<T>(raw.v.y, x.v + 2);
    if constexpr (kWidth == 8) {
      WidenPair<T>(raw.v.z, x.v + 4);
      WidenPair<T>(raw.v.w, x.v + 6);
    }
    return x;
  }
}

// Elements whose type, of float's size or of 16 bits, is known when a kernel is compiled, and if of
// 16 bits, f16 or bf16, is `type`.
template <int kWidth>
__device__ __forceinline__ Vector<kWidth> WidenAs(const RawVector<kWidth, float>& raw, DType) {
  return Widen<kWidth>(raw);
}
template <int kWidth>
__device__ __forceinline__ Vector<kWidth> WidenAs(const RawVector<kWidth, uint16_t>& raw,
                                                  DType type) {
  if constexpr (kWidth == 1)
    return {{type == DType::kF16 ? ToFloat(Half::FromBits(raw.v))
                                 : ToFloat(BFloat16::FromBits(raw.v))}};
  else
    return type == DType::kF16 ? Widen(RawVector<kWidth, Half>{raw.v})
                               : Widen(RawVector<kWidth, BFloat16>{raw.v});
}

// Alignment as LoadRaw.
template <int kWidth, typename T>
__device__ __forceinline__ Vector<kWidth> LoadVector(const T* p) {
  return Widen<kWidth>(LoadRaw<kWidth>(p));
}

__device__ __forceinline__ uint16_t BitsAs(float value, Half) { return NarrowToHalf(value); }
__device__ __forceinline__ uint16_t BitsAs(float value, BFloat16) {
  return NarrowToBFloat16(value);
}

// Stores past the first level of cache what nobody reads again soon. Alignment: as far as 16 bytes,
// to kWidth elements. kWidth: 1 or a multiple of 4.
template <int kWidth>
__device__ __forceinline__ void StreamVector(float* p, const Vector<kWidth>& x) {
  if constexpr (kWidth == 1) {
    __stcs(p, x.v[0]);
  } else {
#pragma unroll
    for (int k = 0; k < kWidth; k += 4)
      __stcs(reinterpret_cast<float4*>(p + k), float4{x.v[k], x.v[k + 1], x.v[k + 2], x.v[k + 3]});
  }
}
template <int kWidth, typename T>
__device__ __forceinline__ void StreamVector(T* p, const Vector<kWidth>& x) {
  const auto pair = [&](int i) {
    return BitsAs(x.v[i], T()) | static_cast<unsigned>(BitsAs(x.v[i + 1], T())) << 16;
  };
  if constexpr (kWidth == 1) {
    __stcs(reinterpret_cast<uint16_t*>(p), BitsAs(x.v[0], T()));
  } else if constexpr (kWidth == 4) {
    __stcs(reinterpret_cast<uint2*>(p), uint2{pair(0), pair(2)});
  } else {
#pragma unroll
    for (int k = 0; k < kWidth; k += 8)
      __stcs(reinterpret_cast<uint4*>(p + k),
             uint4{pair(k), pair(k + 2), pair(k + 4), pair(k + 6)});
  }
}
template <int kWidth>
__device__ __forceinline__ void StoreVector(float* p, const Vector<kWidth>& x) {
  if constexpr (kWidth == 1)
    *p = x.v[0];
  else
    *reinterpret_cast<float4*>(p) = float4{x.v[0], x.v[1], x.v[2], x.v[3]};
}

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_VECTOR_CUH_
