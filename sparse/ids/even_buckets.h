#ifndef TESSERA_SPARSE_IDS_EVEN_BUCKETS_H_
#define TESSERA_SPARSE_IDS_EVEN_BUCKETS_H_
// Ids dealt out to a few buckets of equal widths, 8 or 16 at a time and without a division: an id's
// bucket is the number of bounds that it reaches. Pointers only, as each instruction set has its
// copy (runtime/base/isa.h).
//
// Counting reads a block of ids once: for every 8 or 16 ids and bound a count of those before that
// reach it, and a bit for each; then a bag's count is a difference of two sums.
#include <cstdint>

#include "runtime/base/isa.h"

namespace tessera::internal {

constexpr int64_t kMaxEvenBuckets = 16;
constexpr uint64_t kNarrowIds = uint64_t{1} << 31;  // ids below it are held in 32 bits

// Bounds of buckets 1 … buckets−1, rising, then the end of the last: ids at or above it belong to
// none.
struct EvenBuckets {
  int64_t buckets;
  uint64_t width;
  uint64_t bounds[kMaxEvenBuckets];
};

// lengths[k·stride + b] = ids of bag b in bucket k, which are added to totals[k]; bag b is ids
// at[b] … at[b+1] (i32 or i64). *complete: whether all ids belong to buckets; else lengths and
// totals are undefined.
struct CountEvenArgs {
  const EvenBuckets* buckets;
  const void* ids;
  int64_t all_ids;  // that may be read
  const int64_t* at;
  void* lengths;
  int64_t* totals;
  int64_t begin, end;  // bags
  int64_t stride;
  bool wide_ids, wide_lengths;  // i64, not i32
  bool* complete;
};

// Id i, less its bucket's first unless keep_ids, goes to out[next[bucket]++]; slots[i] is where to.
// REQUIRES: no id is without a bucket; slots [next[k], ends[k]) of bucket k, and those of ids up to
// slots_end, are the caller's alone and not yet final.
struct DealEvenArgs {
  const EvenBuckets* buckets;
  const void* ids;
  int64_t all_ids;    // that may be read
  void *out, *slots;  // slots may be null
  int64_t* next;
  const int64_t* ends;
  int64_t begin, end, slots_end;  // ids
  bool wide_ids, keep_ids;
};

}  // namespace tessera::internal

#define TESSERA_DECLARE_EVEN_BUCKETS(isa)    \
  namespace tessera::internal::isa {         \
  void CountEven(const CountEvenArgs& args); \
  void DealEven(const DealEvenArgs& args);   \
  }
TESSERA_FOR_EACH_ISA(TESSERA_DECLARE_EVEN_BUCKETS)
#undef TESSERA_DECLARE_EVEN_BUCKETS

#endif  // TESSERA_SPARSE_IDS_EVEN_BUCKETS_H_
