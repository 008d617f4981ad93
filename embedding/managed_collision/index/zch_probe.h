#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_ZCH_PROBE_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_ZCH_PROBE_H_
// The slots in which multi-probe hashing looks for an id.
//
//   bucket   id mod buckets, or ⌊id / ⌈input_hash_size / buckets⌉⌋ where ids are below a size
//   slots    bucket · bucket_size + (h(id) + j) mod open, j = 0, 1, … max_probe − 1
//   open     bucket_size, less the slots at the bucket's end that are reserved
//   h        the two halves, xor-ed, of MurmurHash3 x64 128 of the 16 bytes (id, 0)
#include <cstdint>

#include "embedding/lookup/row_ops.h"
#include "runtime/base/isa.h"

namespace tessera::internal {

inline constexpr int64_t kEmptySlot = -1;

TESSERA_HD uint64_t RotateLeft(uint64_t x, int by) { return x << by | x >> (64 - by); }

// MurmurHash3 x64 128 (Austin Appleby, public domain) of (x, y), as FBGEMM folds it.
TESSERA_HD uint64_t MurmurHash3(uint64_t x, uint64_t y, uint64_t seed) {
  constexpr uint64_t kC1 = 0x87c37b91114253d5ull, kC2 = 0x4cf5ad432745937full;
  uint64_t a = seed ^ RotateLeft(x * kC1, 31) * kC2;
  a = (RotateLeft(a, 27) + seed) * 5 + 0x52dce729;
  uint64_t b = seed ^ RotateLeft(y * kC2, 33) * kC1;
  b = (RotateLeft(b, 31) + a) * 5 + 0x38495ab5;
  a ^= 16;  // bytes
  b ^= 16;
  a += b;
  b += a;
  a = MixBits(a);
  b = MixBits(b);
  a += b;
  return a ^ (b + a);
}

// Slots that one id may have.
struct ZchPlace {
  int64_t base;   // first slot of its bucket
  int64_t start;  // h mod open
  uint64_t hash;
};

struct ZchSlots {
  const int64_t* identities;  // raw ids, or kEmptySlot
  int64_t buckets, bucket_size, reserved, input_hash_size, max_probe;

  TESSERA_HD int64_t open() const { return bucket_size - reserved; }
  TESSERA_HD int64_t BucketOf(int64_t id) const {
    if (buckets == 1) return 0;
    const int64_t block = input_hash_size / buckets + (input_hash_size % buckets != 0);
    const int64_t b = (input_hash_size == 0 ? id : id / block) % buckets;
    return b < 0 ? b + buckets : b;
  }
  TESSERA_HD ZchPlace PlaceOf(int64_t id) const {
    const uint64_t hash = MurmurHash3(static_cast<uint64_t>(id), 0, 0);
    return {BucketOf(id) * bucket_size, static_cast<int64_t>(hash % static_cast<uint64_t>(open())),
            hash};
  }
  // Slots that are looked at, in turn: no slot twice.
  TESSERA_HD int64_t probes() const { return max_probe < open() ? max_probe : open(); }
  TESSERA_HD int64_t Slot(const ZchPlace& place, int64_t probe) const {
    const int64_t at = place.start + probe;
    return place.base + (at < open() ? at : at - open());
  }
  // The probe that looks at a slot of the place's bucket.
  TESSERA_HD int64_t ProbeOf(const ZchPlace& place, int64_t slot) const {
    const int64_t probe = slot - place.base - place.start;
    return probe < 0 ? probe + open() : probe;
  }
  // Returns the slot of `id`, whose place this is, or −1. An empty slot ends a search.
  TESSERA_HD int64_t Find(const ZchPlace& place, int64_t id) const {
    constexpr int kAtOnce = 8;  // one after the other, each would wait for memory
    if (id == kEmptySlot) return -1;
    const int64_t last = probes() - 1;
    for (int64_t first = 0; first <= last; first += kAtOnce) {
      int64_t at[kAtOnce], owners[kAtOnce];
      for (int j = 0; j < kAtOnce; ++j) at[j] = Slot(place, first + j < last ? first + j : last);
      for (int j = 0; j < kAtOnce; ++j) owners[j] = identities[at[j]];
      for (int j = 0; j < kAtOnce; ++j) {
        if (owners[j] == id) return at[j];
        if (owners[j] == kEmptySlot) return -1;
      }
    }
    return -1;
  }
  // Returns the row that an id without a slot reads.
  TESSERA_HD int64_t Fallback(const ZchPlace& place, bool to_others) const {
    if (reserved > 0)
      return place.base + open() +
             static_cast<int64_t>(place.hash % static_cast<uint64_t>(reserved));
    return to_others ? place.base + place.start : -1;
  }
};

// Slots [begin, end) of `found`: ZchSlots::Find of these ids, several slots at a time.
#define TESSERA_DECLARE_ZCH_(isa)                                                   \
  namespace isa {                                                                   \
  void FindSlots(const ZchSlots& slots, IndexArray ids, int64_t begin, int64_t end, \
                 int64_t* found);                                                   \
  }
TESSERA_FOR_EACH_ISA(TESSERA_DECLARE_ZCH_)
#undef TESSERA_DECLARE_ZCH_

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_ZCH_PROBE_H_
