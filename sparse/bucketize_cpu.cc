#include <algorithm>

#include "sparse/bucketize_impl.h"

namespace tessera::internal {
namespace {

// Bags a thread takes at a time.
constexpr int64_t kBags = 512;

// Both passes. `visit(begin, end, fn)` calls fn(placer, keep_ids, begin', end') for each feature's
// share of bags [begin, end).
template <typename Visit>
Bucketized RunPasses(Context& ctx, const BucketizeInput& in, const Visit& visit) {
  const int64_t *at = in.bags.offsets.data<int64_t>(), bags = in.bags.count();
  Bucketized result = EmptyResult(ctx, in);
  VisitIndexType(in.indices.dtype(), "bucketize: indices", [&]<typename Index>() {
    VisitIndexType(in.lengths.dtype(), "bucketize: lengths", [&]<typename Length>() {
      const BagCounter<Index, Length> count{in.indices.data<Index>(), bags, in.buckets,
                                            result.lengths.data<Length>()};
      ParallelFor(ctx, bags, kBags, [&](int64_t begin, int64_t end) {
        visit(begin, end, [&](const auto& place, bool, int64_t b, int64_t e) {
          for (; b < e; ++b) count(place, b, at[b], at[b + 1]);
        });
      });
    });
    const Tensor next = FirstSlots(ctx, result);
    const BagScatterer<Index> scatter = MakeScatterer<Index>(in, result, next);
    ParallelFor(ctx, bags, kBags, [&](int64_t begin, int64_t end) {
      visit(begin, end, [&](const auto& place, bool keep_ids, int64_t b, int64_t e) {
        for (; b < e; ++b) scatter(place, keep_ids, b, at[b], at[b + 1]);
      });
    });
  });
  return result;
}

std::vector<int64_t> PerFeature(const Tensor& t, const char* what) {
  std::vector<int64_t> numbers = ToInt64(t);
  for (size_t f = 0; f < numbers.size(); ++f)
    TESSERA_CHECK_GE(numbers[f], 0, "bucketize: {} of feature {}", what, f);
  return numbers;
}

// Placers, and the boundaries that they point to.
struct Features {
  std::vector<FeaturePlacer> placers;
  std::vector<std::vector<int64_t>> boundaries;
};

Features MakeFeatures(const BlockBucketizeArgs& args) {
  const std::vector<int64_t> sizes = PerFeature(args.block_sizes, "block_sizes");
  std::vector<int64_t> totals(sizes.size(), args.my_size);
  if (args.total_num_blocks.defined())
    totals = PerFeature(args.total_num_blocks, "total_num_blocks");
  std::vector<bool> keep(sizes.size(), args.keep_orig_idx);
  if (args.keep_orig_idx_per_feature.defined())
    keep = args.keep_orig_idx_per_feature.ToVector<bool>();
  Features features;
  for (const Tensor& pos : args.block_bucketize_pos)
    features.boundaries.push_back(CheckedOffsets(pos, "bucketize: block_bucketize_pos"));
  const auto buckets = static_cast<uint64_t>(args.my_size);
  for (size_t f = 0; f < sizes.size(); ++f) {
    TESSERA_CHECK(totals[f] > 0 && totals[f] % args.my_size == 0,
                  "bucketize: total_num_blocks {} of feature {} is no multiple of my_size {}",
                  totals[f], f, args.my_size);
    const auto blocks = static_cast<uint64_t>(totals[f]);
    FeaturePlacer placer{keep[f],
                         !features.boundaries.empty(),
                         BlockPlacer(static_cast<uint64_t>(sizes[f]), blocks, buckets),
                         {}};
    if (placer.by_boundaries)
      placer.boundaries = {features.boundaries[f].data(),
                           static_cast<int64_t>(features.boundaries[f].size()), blocks, buckets,
                           sizes[f] == 0};
    features.placers.push_back(placer);
  }
  return features;
}

// Bags of feature f are [f] … [f+1].
std::vector<int64_t> FeatureOffsets(const BlockBucketizeArgs& args, size_t count, int64_t bags) {
  std::vector<int64_t> batch(count, count > 0 ? bags / static_cast<int64_t>(count) : 0);
  if (args.batch_size_per_feature.defined())
    batch = PerFeature(args.batch_size_per_feature, "batch_size_per_feature");
  std::vector<int64_t> offsets = HostOffsets(batch);
  TESSERA_CHECK_EQ(offsets.back(), bags,
                   "bucketize: the sum of batch_size_per_feature, and lengths");
  return offsets;
}

}  // namespace

Bucketized BucketizeBlocks(OnCpu, Context& ctx, const BucketizeInput& in,
                           const BlockBucketizeArgs& args) {
  const Features features = MakeFeatures(args);
  const std::vector<int64_t> at = FeatureOffsets(args, features.placers.size(), in.bags.count());
  return RunPasses(ctx, in, [&](int64_t begin, int64_t end, const auto& fn) {
    auto f = static_cast<size_t>(std::upper_bound(at.begin(), at.end(), begin) - at.begin() - 1);
    for (; begin < end; ++f) {
      const int64_t stop = std::min(end, at[f + 1]);
      const FeaturePlacer& placer = features.placers[f];
      if (placer.by_boundaries)
        fn(placer.boundaries, placer.keep_ids, begin, stop);
      else
        fn(placer.by_blocks, placer.keep_ids, begin, stop);
      begin = stop;
    }
  });
}

Bucketized BucketizeCyclic(OnCpu, Context& ctx, const BucketizeInput& in) {
  const CyclicPlacer place{Divider(static_cast<uint64_t>(in.buckets))};
  return RunPasses(ctx, in, [&](int64_t begin, int64_t end, const auto& fn) {
    fn(place, /*keep_ids=*/false, begin, end);
  });
}

}  // namespace tessera::internal
