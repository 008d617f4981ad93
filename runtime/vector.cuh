#ifndef TESSERA_RUNTIME_VECTOR_CUH_
#define TESSERA_RUNTIME_VECTOR_CUH_
// Elements that one lane of a kernel moves at a time: kWidth neighbouring elements (4, by one load
// of 16 or 8 bytes, or 1), as floats. For .cu files.
#include "runtime/ptx.cuh"

namespace tessera::internal {

template <int kWidth>
struct Vector {
  float v[kWidth];
};

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

// REQUIRES: p is a multiple of the size of kWidth elements.
template <int kWidth, typename T>
__device__ __forceinline__ RawVector<kWidth, T> LoadRaw(const T* p) {
  return {*reinterpret_cast<const decltype(RawVector<kWidth, T>::v)*>(p)};
}

template <int kWidth, typename T>
__device__ __forceinline__ Vector<kWidth> Widen(const RawVector<kWidth, T>& raw) {
  if constexpr (kWidth == 1) {
    return {{ToFloat(raw.v)}};
  } else if constexpr (sizeof(T) == 4) {
    return {{raw.v.x, raw.v.y, raw.v.z, raw.v.w}};
  } else {
    T half[4];
    half[0].bits = static_cast<uint16_t>(raw.v.x);
    half[1].bits = static_cast<uint16_t>(raw.v.x >> 16);
    half[2].bits = static_cast<uint16_t>(raw.v.y);
    half[3].bits = static_cast<uint16_t>(raw.v.y >> 16);
    return {{ToFloat(half[0]), ToFloat(half[1]), ToFloat(half[2]), ToFloat(half[3])}};
  }
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

// Stores past the first level of cache what nobody reads again soon. Alignment as LoadVector.
template <int kWidth>
__device__ __forceinline__ void StreamVector(float* p, const Vector<kWidth>& x) {
  if constexpr (kWidth == 1)
    __stcs(p, x.v[0]);
  else
    __stcs(reinterpret_cast<float4*>(p), float4{x.v[0], x.v[1], x.v[2], x.v[3]});
}
template <int kWidth, typename T>
__device__ __forceinline__ void StreamVector(T* p, const Vector<kWidth>& x) {
  if constexpr (kWidth == 1) {
    __stcs(reinterpret_cast<uint16_t*>(p), BitsAs(x.v[0], T()));
  } else {
    const auto pair = [&](int i) {
      return BitsAs(x.v[i], T()) | static_cast<unsigned>(BitsAs(x.v[i + 1], T())) << 16;
    };
    __stcs(reinterpret_cast<uint2*>(p), uint2{pair(0), pair(2)});
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
