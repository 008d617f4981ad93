#ifndef TESSERA_SPARSE_IDS_BUCKETIZE_IMPL_H_
#define TESSERA_SPARSE_IDS_BUCKETIZE_IMPL_H_
// Two passes over the bags: how many ids of each go to each bucket; then, the free slots known,
// each id to its own. Slots follow from the counts alone, so any split over threads gives the same
// result. A device keeps the next free slot of every (bucket, bag); the CPU, whose threads take
// runs of bags, that of every (run, bucket).
#include "runtime/device/device.h"
#include "sparse/ids/bucketize.h"
#include "sparse/ids/bucketize_placers.h"
#include "sparse/ops/segments.h"

namespace tessera::internal {

// The jagged input, and what to return besides indices and lengths.
struct BucketizeInput {
  Tensor lengths, indices;  // contiguous
  int64_t buckets;
  bool pos, slots;
  Segments bags;
};

// One bag: ids [begin, end). Counts and slots of bucket k are [k·bags] of theirs.
template <typename Index, typename Count>
struct BagCounter {
  const Index* ids;
  int64_t bags, buckets;
  Count* counts;
  template <typename Placer>
  TESSERA_HD void operator()(const Placer& place, int64_t bag, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) {
      const auto bucket =
          static_cast<int64_t>(place(static_cast<uint64_t>(static_cast<int64_t>(ids[i]))).bucket);
      if (bucket < buckets) ++counts[bucket * bags + bag];
    }
  }
};

// `next` holds the next free slot of each (bucket, bag); pos and slots may be null.
template <typename Index>
struct BagScatterer {
  const Index* ids;
  int64_t bags, buckets, total;
  int64_t* next;
  Index *out, *pos, *slots;
  template <typename Placer>
  TESSERA_HD void operator()(const Placer& place, bool keep_ids, int64_t bag, int64_t begin,
                             int64_t end) const {
    for (int64_t i = begin; i < end; ++i) {
      const Placed placed = place(static_cast<uint64_t>(static_cast<int64_t>(ids[i])));
      const auto bucket = static_cast<int64_t>(placed.bucket);
      if (bucket >= buckets) continue;
      const int64_t slot = next[bucket * bags + bag]++;
      if (slot >= total) continue;
      out[slot] = keep_ids ? ids[i] : static_cast<Index>(placed.id);
      if (pos != nullptr) pos[slot] = static_cast<Index>(i - begin);
      if (slots != nullptr) slots[i] = static_cast<Index>(slot);
    }
  }
};

// All but the weights.
Bucketized BucketizeBlocks(OnCpu, Context& ctx, const BucketizeInput& in,
                           const BlockBucketizeArgs& args);
Bucketized BucketizeBlocks(OnCuda, Context& ctx, const BucketizeInput& in,
                           const BlockBucketizeArgs& args);
Bucketized BucketizeCyclic(OnCpu, Context& ctx, const BucketizeInput& in);
Bucketized BucketizeCyclic(OnCuda, Context& ctx, const BucketizeInput& in);

// The result's tensors, not filled in; lengths [buckets · bags] as given.
Bucketized EmptyResult(Context& ctx, const BucketizeInput& in, Tensor lengths);
// Places with the free slots of `bags` bags.
template <typename Index>
BagScatterer<Index> MakeScatterer(const BucketizeInput& in, const Bucketized& result, int64_t* next,
                                  int64_t bags) {
  return {in.indices.data<Index>(),
          bags,
          in.buckets,
          in.bags.rows,
          next,
          result.indices.data<Index>(),
          in.pos ? result.pos.data<Index>() : nullptr,
          in.slots ? result.unbucketize_permute.data<Index>() : nullptr};
}

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_IDS_BUCKETIZE_IMPL_H_
