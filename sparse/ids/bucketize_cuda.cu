// A thread a bag: counts, then slots. Placers of the features are made on the device, from the
// numbers there, so nobody waits.
#include "runtime/launch.cuh"
#include "runtime/tensor.h"
#include "sparse/ids/bucketize_impl.h"
#include "sparse/ops/cumsum.h"

namespace tessera::internal {
namespace {

// Visit calls fn with the placer of the bag's feature.
struct BlockPlacers {
  const FeaturePlacer* placers;
  const int64_t* feature_offsets;
  int64_t features;
  template <typename Fn>
  TESSERA_HD void Visit(int64_t bag, const Fn& fn) const {
    const FeaturePlacer& placer = placers[SegmentOf(feature_offsets, 0, features - 1, bag)];
    if (placer.by_boundaries)
      fn(placer.boundaries, placer.keep_ids);
    else
      fn(placer.by_blocks, placer.keep_ids);
  }
};

struct OnePlacer {
  CyclicPlacer placer;
  template <typename Fn>
  TESSERA_HD void Visit(int64_t, const Fn& fn) const {
    fn(placer, false);
  }
};

template <typename Placers, typename Counter>
struct CountBag {
  Placers placers;
  Counter count;
  const int64_t* offsets;
  TESSERA_HD void operator()(int64_t bag) const {
    placers.Visit(
        bag, [&](const auto& place, bool) { count(place, bag, offsets[bag], offsets[bag + 1]); });
  }
};

template <typename Placers, typename Scatterer>
struct ScatterBag {
  Placers placers;
  Scatterer scatter;
  const int64_t* offsets;
  TESSERA_HD void operator()(int64_t bag) const {
    placers.Visit(bag, [&](const auto& place, bool keep_ids) {
      scatter(place, keep_ids, bag, offsets[bag], offsets[bag + 1]);
    });
  }
};

// The first slot of each (bucket, bag), from its counts.
Tensor FirstSlots(Context& ctx, const Bucketized& result) {
  return ExclusiveCumsum(ctx, result.lengths.To(ctx, DType::kI64));
}

template <typename Placers>
Bucketized RunPasses(Context& ctx, const BucketizeInput& in, const Placers& placers) {
  const int64_t *at = in.bags.offsets.data<int64_t>(), bags = in.bags.count();
  Bucketized result =
      EmptyResult(ctx, in, Tensor::Zeros(ctx, {in.buckets * bags}, in.lengths.dtype()));
  VisitIndexType(in.indices.dtype(), "bucketize: indices", [&]<typename Index>() {
    VisitIndexType(in.lengths.dtype(), "bucketize: lengths", [&]<typename Length>() {
      using Counter = BagCounter<Index, Length>;
      const Counter count{in.indices.data<Index>(), bags, in.buckets,
                          result.lengths.data<Length>()};
      ForEach(ctx, bags, CountBag<Placers, Counter>{placers, count, at});
    });
    const Tensor next = FirstSlots(ctx, result);
    ForEach(ctx, bags,
            ScatterBag<Placers, BagScatterer<Index>>{
                placers, MakeScatterer<Index>(in, result, next.data<int64_t>(), bags), at});
  });
  return result;
}

// Numbers of features on the device; pointers may be null for the default.
struct MakePlacer {
  const int64_t *sizes, *totals;
  const bool* keep;
  bool keep_default;
  const int64_t *boundaries, *boundary_counts;  // addresses, and how many lie there
  int64_t buckets;
  FeaturePlacer* placers;
  TESSERA_HD void operator()(int64_t f) const {
    const auto w = static_cast<uint64_t>(buckets);
    const int64_t total = totals != nullptr ? totals[f] : buckets;
    const uint64_t blocks = total < 1 ? 1 : static_cast<uint64_t>(total);
    const auto size = static_cast<uint64_t>(sizes[f]);
    placers[f] = {keep != nullptr ? keep[f] : keep_default,
                  boundaries != nullptr,
                  BlockPlacer(size, blocks, w),
                  {}};
    if (boundaries != nullptr)
      placers[f].boundaries = {reinterpret_cast<const int64_t*>(boundaries[f]), boundary_counts[f],
                               blocks, w, size == 0};
  }
};

const int64_t* DataOrNull(const Tensor& t) { return t.defined() ? t.data<int64_t>() : nullptr; }

Tensor AsInt64(Context& ctx, const Tensor& t) {
  return t.defined() ? t.Contiguous(ctx).To(ctx, DType::kI64) : t;
}

}  // namespace

Bucketized BucketizeBlocks(OnCuda, Context& ctx, const BucketizeInput& in,
                           const BlockBucketizeArgs& args) {
  const int64_t features = args.block_sizes.dim(0), bags = in.bags.count();
  const Tensor sizes = AsInt64(ctx, args.block_sizes), totals = AsInt64(ctx, args.total_num_blocks),
               keep = args.keep_orig_idx_per_feature;
  std::vector<Tensor> boundaries;
  std::vector<int64_t> where;  // addresses, then counts
  for (const Tensor& pos : args.block_bucketize_pos) {
    boundaries.push_back(AsInt64(ctx, pos));
    where.push_back(reinterpret_cast<int64_t>(boundaries.back().data<int64_t>()));
  }
  for (const Tensor& pos : boundaries) where.push_back(pos.dim(0));
  const Tensor table = where.empty() ? Tensor() : Tensor::From(ctx, where);
  const Tensor placers =
      Tensor::Empty(ctx, {features * static_cast<int64_t>(sizeof(FeaturePlacer))}, DType::kU8);
  auto* made = static_cast<FeaturePlacer*>(placers.raw_data());
  ForEach(ctx, features,
          MakePlacer{sizes.data<int64_t>(), DataOrNull(totals),
                     keep.defined() ? keep.data<bool>() : nullptr, args.keep_orig_idx,
                     DataOrNull(table), DataOrNull(table) + (table.defined() ? features : 0),
                     in.buckets, made});
  const Segments of_features =
      args.batch_size_per_feature.defined()
          ? SegmentsOverLengths(ctx, args.batch_size_per_feature, bags, "batch_size_per_feature")
          : Segments{Tensor::From(ctx, HostOffsets(std::vector<int64_t>(
                                           static_cast<size_t>(features),
                                           features > 0 ? bags / features : 0))),
                     bags};
  return RunPasses(ctx, in, BlockPlacers{made, of_features.offsets.data<int64_t>(), features});
}

Bucketized BucketizeCyclic(OnCuda, Context& ctx, const BucketizeInput& in) {
  return RunPasses(ctx, in, OnePlacer{{Divider(static_cast<uint64_t>(in.buckets))}});
}

}  // namespace tessera::internal
