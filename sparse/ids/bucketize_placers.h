#ifndef TESSERA_SPARSE_IDS_BUCKETIZE_PLACERS_H_
#define TESSERA_SPARSE_IDS_BUCKETIZE_PLACERS_H_
// The formulas of bucketize.h, for host and device code: an id's bucket, and its value there.
#include <cstdint>

#include "runtime/base/host_device.h"
#include "sparse/ops/divider.h"
#include "sparse/ops/search.h"

namespace tessera::internal {

struct Placed {
  uint64_t bucket, id;
};

// a·b, or the largest number there is.
TESSERA_HD uint64_t SaturatedProduct(uint64_t a, uint64_t b) {
  const UInt128 product = static_cast<UInt128>(a) * b;
  return product >> 64 != 0 ? ~uint64_t{0} : static_cast<uint64_t>(product);
}

struct CyclicPlacer {
  Divider buckets;
  TESSERA_HD Placed operator()(uint64_t u) const {
    const uint64_t q = buckets(u);
    return {u - q * buckets.divisor(), q};
  }
};

// Even blocks: G of them of k ids, G/W to a bucket. REQUIRES: G is a multiple of W; else buckets
// beyond the last are named.
class BlockPlacer {
 public:
  TESSERA_HD BlockPlacer(uint64_t block_size, uint64_t blocks, uint64_t buckets)
      : blocks_(blocks < buckets ? buckets : blocks),
        per_bucket_(blocks_ / buckets),
        limit_(SaturatedProduct(block_size, blocks_)),
        bucket_ids_(SaturatedProduct(block_size, per_bucket_)) {}
  TESSERA_HD Placed operator()(uint64_t u) const {
    if (u < limit_) [[likely]] {
      const uint64_t bucket = bucket_ids_(u);
      return {bucket, u - bucket * bucket_ids_.divisor()};
    }
    return {u % blocks_ / per_bucket_, u / blocks_};
  }

 private:
  uint64_t blocks_, per_bucket_, limit_;
  Divider bucket_ids_;
};

// Boundaries begins[0 … count), the first of them 0; `hashed`: the block size is 0, and ids are
// spread over `blocks` first.
struct BoundaryPlacer {
  const int64_t* begins;
  int64_t count;
  uint64_t blocks, buckets;
  bool hashed;
  TESSERA_HD Placed operator()(uint64_t u) const {
    const auto last = static_cast<uint64_t>(begins[count - 1]);
    const uint64_t x =
        hashed ? static_cast<uint64_t>(static_cast<UInt128>(u % blocks) * last / blocks) : u;
    // An id of 2^63 or more lies past all boundaries.
    const int64_t found =
        x >> 63 != 0 ? count - 1 : SegmentOf(begins, 0, count - 1, static_cast<int64_t>(x));
    const bool inside = static_cast<uint64_t>(found) < buckets;
    const uint64_t bucket = inside ? static_cast<uint64_t>(found) : u % buckets;
    if (hashed) return {bucket, u / blocks};
    return {bucket, inside ? u - static_cast<uint64_t>(begins[found]) : u / buckets};
  }
};

// Parameters of one feature.
struct FeaturePlacer {
  bool keep_ids, by_boundaries;
  BlockPlacer by_blocks;
  BoundaryPlacer boundaries;
};

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_IDS_BUCKETIZE_PLACERS_H_
