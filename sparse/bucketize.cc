#include "sparse/bucketize.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "sparse/bucketize_placers.h"
#include "sparse/cumsum.h"
#include "sparse/row_runs.h"
#include "sparse/segments.h"

namespace tessera {
namespace {

using internal::BlockPlacer;
using internal::BoundaryPlacer;
using internal::CyclicPlacer;
using internal::Divider;
using internal::Placed;

// Bags a thread takes at a time.
constexpr int64_t kBags = 512;

// The jagged input, and what to return besides indices and lengths.
struct Input {
  Tensor lengths, indices;
  int64_t buckets;
  bool pos, slots;
  std::vector<int64_t> bag_offsets;

  Input(Context& ctx, const Tensor& lengths_in, const Tensor& indices_in, int64_t my_size,
        bool want_pos, bool want_slots)
      : lengths(lengths_in.Contiguous(ctx)),
        indices(indices_in.Contiguous(ctx)),
        buckets(my_size),
        pos(want_pos),
        slots(want_slots),
        bag_offsets(OffsetsOfLengths(lengths)) {
    TESSERA_CHECK_GE(my_size, 1, "bucketize: my_size");
    TESSERA_CHECK_EQ(indices.rank(), 1, "bucketize: indices {}", indices.shape());
    TESSERA_CHECK_EQ(bag_offsets.back(), indices.dim(0),
                     "bucketize: the sum of lengths, and indices");
    TESSERA_CHECK(
        indices.dtype() != DType::kI32 || indices.dim(0) <= std::numeric_limits<int32_t>::max(),
        "bucketize: {} ids need to be i64", indices.dim(0));
  }
  int64_t bags() const { return static_cast<int64_t>(bag_offsets.size()) - 1; }
};

template <typename Index>
uint64_t Unsigned(Index id) {
  return static_cast<uint64_t>(static_cast<int64_t>(id));
}

// Pass 1 for bags [begin, end): how many ids of each go to each bucket.
template <typename Index, typename Length, typename Placer>
void Count(const Input& in, const Placer& place, int64_t begin, int64_t end, Length* counts) {
  const Index* ids = in.indices.data<Index>();
  for (int64_t bag = begin; bag < end; ++bag)
    for (int64_t i = in.bag_offsets[static_cast<size_t>(bag)];
         i < in.bag_offsets[static_cast<size_t>(bag) + 1]; ++i)
      ++counts[static_cast<int64_t>(place(Unsigned(ids[i])).bucket) * in.bags() + bag];
}

template <typename Index>
struct Outputs {
  Index *ids, *pos, *slots;  // the last two may be null
};

// Pass 2: `next` holds the next free slot of each (bucket, bag).
template <typename Index, typename Placer>
void Scatter(const Input& in, const Placer& place, bool keep_ids, int64_t begin, int64_t end,
             int64_t* next, const Outputs<Index>& out) {
  const Index* ids = in.indices.data<Index>();
  for (int64_t bag = begin; bag < end; ++bag) {
    const int64_t first = in.bag_offsets[static_cast<size_t>(bag)],
                  last = in.bag_offsets[static_cast<size_t>(bag) + 1];
    for (int64_t i = first; i < last; ++i) {
      const Placed placed = place(Unsigned(ids[i]));
      const int64_t slot = next[static_cast<int64_t>(placed.bucket) * in.bags() + bag]++;
      out.ids[slot] = keep_ids ? ids[i] : static_cast<Index>(placed.id);
      if (out.pos != nullptr) out.pos[slot] = static_cast<Index>(i - first);
      if (out.slots != nullptr) out.slots[i] = static_cast<Index>(slot);
    }
  }
}

// Both passes. `visit(begin, end, fn)` calls fn(placer, keep_ids, begin', end') for each feature's
// share of bags [begin, end). A bag's slots depend on no other bag's order, so any split over
// threads gives the same result.
template <typename Visit>
Bucketized RunPasses(Context& ctx, const Input& in, const Visit& visit) {
  Bucketized result;
  result.lengths = Tensor::Zeros(ctx, {in.buckets * in.bags()}, in.lengths.dtype());
  result.indices = Tensor::Empty(ctx, in.indices.shape(), in.indices.dtype());
  if (in.pos) result.pos = Tensor::Empty(ctx, in.indices.shape(), in.indices.dtype());
  if (in.slots)
    result.unbucketize_permute = Tensor::Empty(ctx, in.indices.shape(), in.indices.dtype());
  VisitIndexType(in.indices.dtype(), "bucketize: indices", [&]<typename Index>() {
    VisitIndexType(in.lengths.dtype(), "bucketize: lengths", [&]<typename Length>() {
      Length* counts = result.lengths.data<Length>();
      ParallelFor(ctx, in.bags(), kBags, [&](int64_t begin, int64_t end) {
        visit(begin, end, [&](const auto& place, bool, int64_t b, int64_t e) {
          Count<Index>(in, place, b, e, counts);
        });
      });
    });
    const Tensor starts = ExclusiveCumsum(ctx, result.lengths.To(ctx, DType::kI64));
    const Outputs<Index> out = {result.indices.data<Index>(),
                                in.pos ? result.pos.data<Index>() : nullptr,
                                in.slots ? result.unbucketize_permute.data<Index>() : nullptr};
    ParallelFor(ctx, in.bags(), kBags, [&](int64_t begin, int64_t end) {
      visit(begin, end, [&](const auto& place, bool keep_ids, int64_t b, int64_t e) {
        Scatter(in, place, keep_ids, b, e, starts.data<int64_t>(), out);
      });
    });
  });
  return result;
}

// to[slots[i]] = from[i] for all rows i, or from[i] = to[slots[i]] the other way.
Tensor MoveRows(Context& ctx, const Tensor& tensor, const Tensor& slots, bool back) {
  const Tensor from = tensor.Contiguous(ctx);
  Tensor to = Tensor::Empty(ctx, from.shape(), from.dtype());
  const int64_t width = internal::RowBytes(from) / SizeOf(from.dtype());
  VisitIndexType(slots.dtype(), "slots", [&]<typename Index>() {
    const Index* slot = slots.data<Index>();
    const float* in = from.data<float>();
    float* out = to.data<float>();
    ParallelFor(ctx, slots.dim(0), 1 << 13, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t source = back ? slot[i] : i, target = back ? i : slot[i];
        if (width == 1)
          out[target] = in[source];
        else
          std::copy_n(in + source * width, width, out + target * width);
      }
    });
  });
  return to;
}

class BucketizeWeightsFunction : public Function {
 public:
  explicit BucketizeWeightsFunction(Tensor slots) : slots_(std::move(slots)) {}
  std::string_view name() const override { return "BucketizeWeights"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {MoveRows(ctx, grads[0], slots_, /*back=*/true)};
  }

 private:
  Tensor slots_;
};

void CheckWeights(const Variable& weights, const Tensor& indices) {
  if (!weights.defined()) return;
  TESSERA_CHECK(weights.rank() >= 1 && weights.dim(0) == indices.dim(0),
                "bucketize: weights {} for {} ids", weights.shape(), indices.dim(0));
}

// Fills result.weights, and drops the slots if nobody asked for them.
void MoveWeights(Context& ctx, const Variable& weights, bool sequence, Bucketized* result) {
  if (weights.defined()) {
    const Tensor& slots = result->unbucketize_permute;
    result->weights = Record(ctx, std::make_unique<BucketizeWeightsFunction>(slots), {weights},
                             MoveRows(ctx, weights, slots, /*back=*/false));
  }
  if (!sequence) result->unbucketize_permute = {};
}

// What is particular to one feature.
struct Feature {
  bool keep_ids = false, by_boundaries = false;
  BlockPlacer blocks;
  BoundaryPlacer boundaries;
};

BoundaryPlacer MakeBoundaries(const Tensor& pos, size_t feature, uint64_t blocks, uint64_t buckets,
                              bool hashed) {
  const std::vector<int64_t> begins = CheckedOffsets(pos, "bucketize: block_bucketize_pos");
  TESSERA_CHECK_GE(begins.size(), size_t{2}, "bucketize: boundaries of feature {}", feature);
  return {{begins.begin(), begins.end()}, blocks, buckets, hashed};
}

std::vector<int64_t> PerFeature(const Tensor& t, size_t features, const char* what) {
  std::vector<int64_t> numbers = ToInt64(t);
  TESSERA_CHECK_EQ(numbers.size(), features, "bucketize: {}, one a feature", what);
  for (size_t f = 0; f < features; ++f)
    TESSERA_CHECK_GE(numbers[f], 0, "bucketize: {} of feature {}", what, f);
  return numbers;
}

std::vector<Feature> MakeFeatures(const BlockBucketizeArgs& args, size_t count) {
  const std::vector<int64_t> sizes = PerFeature(args.block_sizes, count, "block_sizes");
  std::vector<int64_t> totals(count, args.my_size);
  if (args.total_num_blocks.defined())
    totals = PerFeature(args.total_num_blocks, count, "total_num_blocks");
  if (!args.block_bucketize_pos.empty())
    TESSERA_CHECK_EQ(args.block_bucketize_pos.size(), count,
                     "bucketize: block_bucketize_pos, one a feature");
  std::vector<bool> keep(count, args.keep_orig_idx);
  if (args.keep_orig_idx_per_feature.defined())
    keep = args.keep_orig_idx_per_feature.ToVector<bool>();
  TESSERA_CHECK_EQ(keep.size(), count, "bucketize: keep_orig_idx_per_feature, one a feature");
  std::vector<Feature> features;
  const auto buckets = static_cast<uint64_t>(args.my_size);
  for (size_t f = 0; f < count; ++f) {
    TESSERA_CHECK(totals[f] > 0 && totals[f] % args.my_size == 0,
                  "bucketize: total_num_blocks {} of feature {} is no multiple of my_size {}",
                  totals[f], f, args.my_size);
    const auto blocks = static_cast<uint64_t>(totals[f]);
    Feature feature{
        keep[f], false, BlockPlacer(static_cast<uint64_t>(sizes[f]), blocks, buckets), {}};
    if (!args.block_bucketize_pos.empty()) {
      feature.by_boundaries = true;
      feature.boundaries =
          MakeBoundaries(args.block_bucketize_pos[f], f, blocks, buckets, sizes[f] == 0);
    }
    features.push_back(std::move(feature));
  }
  return features;
}

// Bags of feature f are [f] … [f+1].
std::vector<int64_t> FeatureOffsets(const BlockBucketizeArgs& args, size_t count, int64_t bags) {
  std::vector<int64_t> batch;
  if (args.batch_size_per_feature.defined()) {
    batch = PerFeature(args.batch_size_per_feature, count, "batch_size_per_feature");
  } else {
    TESSERA_CHECK(count > 0 ? bags % static_cast<int64_t>(count) == 0 : bags == 0,
                  "bucketize: {} lengths of {} features", bags, count);
    batch.assign(count, count > 0 ? bags / static_cast<int64_t>(count) : 0);
  }
  std::vector<int64_t> offsets = HostOffsets(batch);
  TESSERA_CHECK_EQ(offsets.back(), bags,
                   "bucketize: the sum of batch_size_per_feature, and lengths");
  return offsets;
}

}  // namespace

Bucketized BlockBucketizeSparseFeatures(Context& ctx, const BlockBucketizeArgs& args) {
  const Input in(ctx, args.lengths, args.indices, args.my_size, args.bucketize_pos,
                 args.sequence || args.weights.defined());
  CheckWeights(args.weights, args.indices);
  const auto count = static_cast<size_t>(args.block_sizes.numel());
  const std::vector<Feature> features = MakeFeatures(args, count);
  const std::vector<int64_t> at = FeatureOffsets(args, count, in.bags());
  Bucketized result = RunPasses(ctx, in, [&](int64_t begin, int64_t end, const auto& fn) {
    auto f = static_cast<size_t>(std::upper_bound(at.begin(), at.end(), begin) - at.begin() - 1);
    for (; begin < end; ++f) {
      const int64_t stop = std::min(end, at[f + 1]);
      if (features[f].by_boundaries)
        fn(features[f].boundaries, features[f].keep_ids, begin, stop);
      else
        fn(features[f].blocks, features[f].keep_ids, begin, stop);
      begin = stop;
    }
  });
  MoveWeights(ctx, args.weights, args.sequence, &result);
  return result;
}

Bucketized BucketizeSparseFeatures(Context& ctx, const Tensor& lengths, const Tensor& indices,
                                   int64_t my_size, bool bucketize_pos, const Variable& weights) {
  const Input in(ctx, lengths, indices, my_size, bucketize_pos, weights.defined());
  CheckWeights(weights, indices);
  const CyclicPlacer place{Divider(static_cast<uint64_t>(my_size))};
  Bucketized result = RunPasses(ctx, in, [&](int64_t begin, int64_t end, const auto& fn) {
    fn(place, /*keep_ids=*/false, begin, end);
  });
  MoveWeights(ctx, weights, /*sequence=*/false, &result);
  return result;
}

}  // namespace tessera
