#ifndef TESSERA_SPARSE_BUCKETIZE_PLACERS_H_
#define TESSERA_SPARSE_BUCKETIZE_PLACERS_H_
// Which bucket an id goes to, and as what: the formulas of bucketize.h. Private to bucketize.cc.
#include <algorithm>
#include <cstdint>
#include <vector>

namespace tessera::internal {

__extension__ typedef unsigned __int128 UInt128;

// u div d by a product where both are below 2^32 (exact: the magic number has 64 bits), several
// times faster.
class Divider {
 public:
  explicit Divider(uint64_t d) : d_(d), magic_(d > 1 && d >> 32 == 0 ? ~uint64_t{0} / d + 1 : 0) {}
  uint64_t operator()(uint64_t u) const {
    if (magic_ != 0 && u >> 32 == 0)
      return static_cast<uint64_t>(static_cast<UInt128>(magic_) * u >> 64);
    return u / d_;
  }
  uint64_t divisor() const { return d_; }

 private:
  uint64_t d_, magic_;
};

struct Placed {
  uint64_t bucket, id;
};

struct CyclicPlacer {
  Divider buckets;
  Placed operator()(uint64_t u) const {
    const uint64_t q = buckets(u);
    return {u - q * buckets.divisor(), q};
  }
};

// Even blocks: G of them of k ids, G/W to a bucket.
class BlockPlacer {
 public:
  BlockPlacer(uint64_t block_size, uint64_t blocks, uint64_t buckets)
      : blocks_(blocks),
        per_bucket_(blocks / buckets),
        limit_(Saturated(block_size, blocks)),
        bucket_ids_(Saturated(block_size, per_bucket_)) {}
  Placed operator()(uint64_t u) const {
    if (u < limit_) [[likely]] {
      const uint64_t bucket = bucket_ids_(u);
      return {bucket, u - bucket * bucket_ids_.divisor()};
    }
    return {u % blocks_ / per_bucket_, u / blocks_};
  }

 private:
  static uint64_t Saturated(uint64_t a, uint64_t b) {
    const UInt128 product = static_cast<UInt128>(a) * b;
    return product >> 64 != 0 ? ~uint64_t{0} : static_cast<uint64_t>(product);
  }
  uint64_t blocks_, per_bucket_, limit_;
  Divider bucket_ids_;
};

// Boundaries; `hashed`: the block size is 0, and ids are spread over `blocks` first.
struct BoundaryPlacer {
  std::vector<uint64_t> begins;
  uint64_t blocks, buckets;
  bool hashed;
  Placed operator()(uint64_t u) const {
    const uint64_t x =
        hashed ? static_cast<uint64_t>(static_cast<UInt128>(u % blocks) * begins.back() / blocks)
               : u;
    const auto found = std::upper_bound(begins.begin(), begins.end(), x) - begins.begin() - 1;
    const bool inside = static_cast<uint64_t>(found) < buckets;
    const uint64_t bucket = inside ? static_cast<uint64_t>(found) : u % buckets;
    if (hashed) return {bucket, u / blocks};
    return {bucket, inside ? u - begins[static_cast<size_t>(found)] : u / buckets};
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_BUCKETIZE_PLACERS_H_
