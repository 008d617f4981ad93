#ifndef TESSERA_SPARSE_IDS_ID_VECTOR_SIMD_H_
#define TESSERA_SPARSE_IDS_ID_VECTOR_SIMD_H_
// For sparse/ids/even_buckets_simd.cc: a few ids as unsigned numbers in a register, compared with a
// bound, and those of some lanes put side by side (where kCompresses; else a plain loop looks at
// each). WideIds holds any ids, NarrowIds small ones. Whole loads and stores wherever they can be:
// with masks they take twice as long (Zen 5).
#include <cstdint>
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#if defined(__AVX2__) && !defined(__AVX512F__)
#include "sparse/ids/set_bits.h"
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
  static constexpr bool kCompresses = true;
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
  Mask AtLeast(uint64_t bound) const {
    return _mm512_cmpge_epu64_mask(u, _mm512_set1_epi64(static_cast<long long>(bound)));
  }
  WideIds Compressed(Mask lanes, uint64_t less) const {
    return {_mm512_sub_epi64(_mm512_maskz_compress_epi64(static_cast<__mmask8>(lanes), u),
                             _mm512_set1_epi64(static_cast<long long>(less)))};
  }
  // Numbers some lanes: first, first + 1, …
  void Number(Mask lanes, int64_t first) {
    const __m512i numbers =
        _mm512_add_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(first));
    u = _mm512_mask_expand_epi64(u, static_cast<__mmask8>(lanes), numbers);
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
  static constexpr bool kCompresses = true;
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
  Mask AtLeast(uint64_t bound) const {
    return _mm512_cmpge_epu32_mask(u, _mm512_set1_epi32(static_cast<int>(bound)));
  }
  NarrowIds Compressed(Mask lanes, uint64_t less) const {
    return {_mm512_sub_epi32(_mm512_maskz_compress_epi32(static_cast<__mmask16>(lanes), u),
                             _mm512_set1_epi32(static_cast<int>(less)))};
  }
  void Number(Mask lanes, int64_t first) {
    const __m512i numbers =
        _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                         _mm512_set1_epi32(static_cast<int>(first)));
    u = _mm512_mask_expand_epi32(u, static_cast<__mmask16>(lanes), numbers);
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
// The first n ids, then zeros.
template <typename Ids, typename Index>
Ids LoadPadded(const Index* ids, int64_t n) {
  Index some[Ids::kLanes] = {};
  for (int64_t i = 0; i < n; ++i) some[i] = ids[i];
  return Ids::Load(some);
}

struct WideIds {
  static constexpr int kLanes = 8;
  static constexpr bool kCompresses = false;
  uint64_t u[8];

  template <typename Index>
  static WideIds Load(const Index* ids) {
    WideIds wide;
    for (int i = 0; i < 8; ++i) wide.u[i] = static_cast<uint64_t>(static_cast<int64_t>(ids[i]));
    return wide;
  }
  template <typename Index>
  static WideIds LoadFirst(const Index* ids, int64_t n) {
    return LoadPadded<WideIds>(ids, n);
  }
  Mask AtLeast(uint64_t bound) const {
    Mask mask = 0;
    for (int i = 0; i < 8; ++i) mask |= static_cast<Mask>(u[i] >= bound) << i;
    return mask;
  }
};

#if defined(__AVX2__)
// Ids below 2^31, as above.
struct NarrowIds {
  static constexpr int kLanes = 8;
  static constexpr bool kCompresses = true;
  __m256i u;

  static __m256i LoadFour(const int64_t* ids) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ids));
  }
  static NarrowIds Load(const int64_t* ids) {
    const __m256 first = _mm256_castsi256_ps(LoadFour(ids));
    const __m256 second = _mm256_castsi256_ps(LoadFour(ids + 4));
    const __m256i low = _mm256_castps_si256(_mm256_shuffle_ps(first, second, 0x88));
    const __m256i high = _mm256_castps_si256(_mm256_shuffle_ps(first, second, 0xdd));
    const __m256i small = _mm256_cmpeq_epi32(high, _mm256_setzero_si256());
    const __m256i ids_0145 = _mm256_or_si256(low, _mm256_xor_si256(small, _mm256_set1_epi32(-1)));
    return {_mm256_permute4x64_epi64(ids_0145, 0xd8)};
  }
  static NarrowIds Load(const int32_t* ids) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(ids))};
  }
  template <typename Index>
  static NarrowIds LoadFirst(const Index* ids, int64_t n) {
    return LoadPadded<NarrowIds>(ids, n);
  }
  Mask AtLeast(uint64_t bound) const {
    const __m256i larger = _mm256_max_epu32(u, _mm256_set1_epi32(static_cast<int>(bound)));
    return static_cast<Mask>(
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(larger, u))));
  }
  NarrowIds Compressed(Mask lanes, uint64_t less) const {
    const __m256i from = _mm256_cvtepu8_epi32(LoadEight(kSetBits.at[lanes]));
    return {_mm256_sub_epi32(_mm256_permutevar8x32_epi32(u, from),
                             _mm256_set1_epi32(static_cast<int>(less)))};
  }
  void Number(Mask lanes, int64_t first) {
    const __m256i ranks = _mm256_cvtepi8_epi32(LoadEight(kSetBits.ranks[lanes]));
    const __m256i numbers = _mm256_add_epi32(ranks, _mm256_set1_epi32(static_cast<int>(first)));
    u = _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(numbers), _mm256_castsi256_ps(u),
                                             _mm256_castsi256_ps(ranks)));
  }
  void Store(int64_t* to, int n) const {
    const __m256i low = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(u));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), low);
    if (n <= 4) return;
    const __m256i high = _mm256_cvtepu32_epi64(_mm256_extracti128_si256(u, 1));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 4), high);
  }
  void Store(int32_t* to, int /*n*/) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), u);
  }
  template <typename Index>
  void StoreOnly(Index* to, int n) const {
    alignas(32) uint32_t some[kLanes];
    _mm256_store_si256(reinterpret_cast<__m256i*>(some), u);
    for (int i = 0; i < n; ++i) to[i] = static_cast<Index>(some[i]);
  }
};
#else
using NarrowIds = WideIds;
#endif
#endif

}  // namespace tessera::internal::TESSERA_ISA
#endif  // TESSERA_SPARSE_IDS_ID_VECTOR_SIMD_H_
