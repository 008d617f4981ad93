#ifndef TESSERA_SPARSE_HELD_IDS_H_
#define TESSERA_SPARSE_HELD_IDS_H_
// For sparse/even_buckets_simd.cc: a few ids as unsigned numbers in a register, compared with a bound,
// and those of some lanes put side by side. WideIds holds any ids, NarrowIds twice as many small
// ones. Whole loads and stores wherever they can be: with masks they take twice as long (Zen 5).
#include <cstdint>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace tessera::internal::TESSERA_ISA {

using Mask = uint32_t;  // a bit a lane

inline Mask FirstLanes(int64_t n) { return (1u << n) - 1; }

#if defined(__AVX512F__)
inline void StoreFirst(int64_t* to, __m512i x, Mask lanes) {
  _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(lanes), x);
}
inline void StoreFirst(int32_t* to, __m512i x, Mask lanes) {
  _mm256_mask_storeu_epi32(to, static_cast<__mmask8>(lanes), _mm512_cvtepi64_epi32(x));
}

// Any ids.
struct WideIds {
  static constexpr int kLanes = 8;
  __m512i u;

  static WideIds Load(const int64_t* ids) { return {_mm512_loadu_epi64(ids)}; }
  static WideIds Load(const int32_t* ids) {
    return {_mm512_cvtepi32_epi64(_mm256_loadu_epi32(ids))};
  }
  static WideIds LoadFirst(const int64_t* ids, int64_t n) {
    return {_mm512_maskz_loadu_epi64(static_cast<__mmask8>(FirstLanes(n)), ids)};
  }
  static WideIds LoadFirst(const int32_t* ids, int64_t n) {
    return {
        _mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(static_cast<__mmask8>(FirstLanes(n)), ids))};
  }
  static WideIds Numbers(int64_t first) {
    return {_mm512_add_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(first))};
  }
  Mask AtLeast(uint64_t bound) const {
    return _mm512_cmpge_epu64_mask(u, _mm512_set1_epi64(static_cast<long long>(bound)));
  }
  WideIds Compressed(Mask lanes, uint64_t less) const {
    return {_mm512_sub_epi64(_mm512_maskz_compress_epi64(static_cast<__mmask8>(lanes), u),
                             _mm512_set1_epi64(static_cast<long long>(less)))};
  }
  void Expand(Mask lanes, WideIds from) {
    u = _mm512_mask_expand_epi64(u, static_cast<__mmask8>(lanes), from.u);
  }
  // The first n; what is behind them is written over as well, up to kLanes.
  void Store(int64_t* to, int /*n*/) const { _mm512_storeu_epi64(to, u); }
  void Store(int32_t* to, int /*n*/) const { _mm256_storeu_epi32(to, _mm512_cvtepi64_epi32(u)); }
  template <typename Index>
  void StoreOnly(Index* to, int n) const {
    StoreFirst(to, u, FirstLanes(n));
  }
};

// Ids below 2^31; larger ones become 2^32 - 1, negative ones 2^31 or more.
struct NarrowIds {
  static constexpr int kLanes = 16;
  __m512i u;

  static NarrowIds Of(__m512i first, __m512i second) {
    const __m512i low = _mm512_castsi256_si512(_mm512_cvtusepi64_epi32(first));
    return {_mm512_inserti64x4(low, _mm512_cvtusepi64_epi32(second), 1)};
  }
  static NarrowIds Load(const int64_t* ids) {
    return Of(_mm512_loadu_epi64(ids), _mm512_loadu_epi64(ids + 8));
  }
  static NarrowIds Load(const int32_t* ids) { return {_mm512_loadu_epi32(ids)}; }
  static NarrowIds LoadFirst(const int64_t* ids, int64_t n) {
    const Mask lanes = FirstLanes(n);
    return Of(_mm512_maskz_loadu_epi64(static_cast<__mmask8>(lanes), ids),
              _mm512_maskz_loadu_epi64(static_cast<__mmask8>(lanes >> 8), ids + 8));
  }
  static NarrowIds LoadFirst(const int32_t* ids, int64_t n) {
    return {_mm512_maskz_loadu_epi32(static_cast<__mmask16>(FirstLanes(n)), ids)};
  }
  static NarrowIds Numbers(int64_t first) {
    return {
        _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                         _mm512_set1_epi32(static_cast<int>(first)))};
  }
  Mask AtLeast(uint64_t bound) const {
    return _mm512_cmpge_epu32_mask(u, _mm512_set1_epi32(static_cast<int>(bound)));
  }
  NarrowIds Compressed(Mask lanes, uint64_t less) const {
    return {_mm512_sub_epi32(_mm512_maskz_compress_epi32(static_cast<__mmask16>(lanes), u),
                             _mm512_set1_epi32(static_cast<int>(less)))};
  }
  void Expand(Mask lanes, NarrowIds from) {
    u = _mm512_mask_expand_epi32(u, static_cast<__mmask16>(lanes), from.u);
  }
  __m512i Low() const { return _mm512_cvtepu32_epi64(_mm512_castsi512_si256(u)); }
  __m512i High() const { return _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(u, 1)); }
  void Store(int64_t* to, int n) const {
    _mm512_storeu_epi64(to, Low());
    if (n > 8) _mm512_storeu_epi64(to + 8, High());
  }
  void Store(int32_t* to, int /*n*/) const { _mm512_storeu_epi32(to, u); }
  template <typename Index>
  void StoreOnly(Index* to, int n) const {
    const Mask lanes = FirstLanes(n);
    StoreFirst(to, Low(), lanes & 0xff);
    StoreFirst(to + 8, High(), lanes >> 8);
  }
};
#else
struct WideIds {
  static constexpr int kLanes = 8;
  uint64_t u[8];

  template <typename Index>
  static WideIds Load(const Index* ids) {
    WideIds wide;
    for (int i = 0; i < 8; ++i) wide.u[i] = static_cast<uint64_t>(static_cast<int64_t>(ids[i]));
    return wide;
  }
  template <typename Index>
  static WideIds LoadFirst(const Index* ids, int64_t n) {
    Index some[kLanes] = {};
    for (int64_t i = 0; i < n; ++i) some[i] = ids[i];
    return Load(some);
  }
  Mask AtLeast(uint64_t bound) const {
    Mask mask = 0;
    for (int i = 0; i < 8; ++i) mask |= static_cast<Mask>(u[i] >= bound) << i;
    return mask;
  }
};
using NarrowIds = WideIds;
#endif

}  // namespace tessera::internal::TESSERA_ISA
#endif  // TESSERA_SPARSE_HELD_IDS_H_
