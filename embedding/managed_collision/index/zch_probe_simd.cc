// The search of multi-probe hashing: as many slots at a time as a register holds.
#include "embedding/managed_collision/index/zch_probe.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tessera::internal::TESSERA_ISA {
namespace {

// Bit i: slot i is empty or holds `id`.
#if defined(__AVX512F__)
constexpr int64_t kLanes = 8;
inline unsigned Ends(const int64_t* slots, int64_t id) {
  const __m512i s = _mm512_loadu_si512(slots);
  return _mm512_cmpeq_epi64_mask(s, _mm512_set1_epi64(id)) |
         _mm512_cmpeq_epi64_mask(s, _mm512_set1_epi64(kEmptySlot));
}
#elif defined(__AVX2__)
constexpr int64_t kLanes = 4;
inline unsigned Ends(const int64_t* slots, int64_t id) {
  const __m256i s = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(slots));
  const __m256i ends = _mm256_or_si256(_mm256_cmpeq_epi64(s, _mm256_set1_epi64x(id)),
                                       _mm256_cmpeq_epi64(s, _mm256_set1_epi64x(kEmptySlot)));
  return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(ends)));
}
#else
constexpr int64_t kLanes = 1;
inline unsigned Ends(const int64_t* slots, int64_t id) {
  return *slots == id || *slots == kEmptySlot;
}
#endif

// The first of n slots that is empty or holds `id`, or n.
inline int64_t FirstEnd(const int64_t* slots, int64_t n, int64_t id) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    if (const unsigned ends = Ends(slots + i, id)) return i + __builtin_ctz(ends);
  while (i < n && slots[i] != id && slots[i] != kEmptySlot) ++i;
  return i;
}

int64_t FindSlot(const ZchSlots& slots, int64_t id) {
  if (id == kEmptySlot) return -1;
  const ZchPlace place = slots.PlaceOf(id);
  const int64_t* bucket = slots.identities + place.base;
  const int64_t probes = slots.probes(), to_end = slots.open() - place.start;
  const int64_t straight = probes < to_end ? probes : to_end;
  int64_t at = FirstEnd(bucket + place.start, straight, id);
  if (at < straight) {
    at += place.start;
  } else {  // round the end
    const int64_t rest = probes - straight;
    at = FirstEnd(bucket, rest, id);
    if (at == rest) return -1;
  }
  return bucket[at] == id ? place.base + at : -1;
}

// Ids ahead whose first slot is asked for.
constexpr int64_t kAhead = 16;

}  // namespace

void FindSlots(const ZchSlots& slots, IndexArray ids, int64_t begin, int64_t end, int64_t* found) {
  for (int64_t i = begin; i < end; ++i) {
    if (i + kAhead < end) {
      const ZchPlace ahead = slots.PlaceOf(ids[i + kAhead]);
      __builtin_prefetch(slots.identities + ahead.base + ahead.start);
    }
    found[i] = FindSlot(slots, ids[i]);
  }
}

}  // namespace tessera::internal::TESSERA_ISA
