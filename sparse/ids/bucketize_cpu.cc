// Bags are cut into pieces that threads take; features may begin inside a piece.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <utility>

#include "runtime/base/isa.h"
#include "runtime/device/scratch_pool.h"
#include "runtime/tensor.h"
#include "sparse/ids/bucketize_impl.h"
#include "sparse/ids/even_buckets.h"
#include "sparse/ops/sum_lengths.h"

namespace tessera::internal {
namespace {

// Bags a thread takes at a time.
constexpr int64_t kBags = 512;

// The free slots of a piece of bags: one run of them in each bucket, as buckets are written bag
// after bag; and where the piece's own ids end.
struct FreeSlots {
  ScratchVector<int64_t> next, ends;
  int64_t ids_end;
};

// The slots of all pieces: piece p's run in bucket k is firsts_[k·pieces + p] up to the next
// element.
class PieceSlots {
 public:
  PieceSlots(int64_t bags, int64_t buckets)
      : pieces_((bags + kBags - 1) / kBags),
        buckets_(buckets),
        firsts_(static_cast<size_t>(pieces_ * buckets + 1)) {}

  // Ids of bags [begin, end), a piece, in each bucket.
  template <typename Length>
  void Count(const Length* lengths, int64_t bags, int64_t begin, int64_t end) {
    Length signs = 0;
    for (int64_t k = 0; k < buckets_; ++k)
      firsts_[At(k, begin)] = SumLengths(lengths, k * bags + begin, k * bags + end, &signs);
  }
  // Sets a piece's numbers of ids in the buckets, if they are known.
  void Set(int64_t begin, const ScratchVector<int64_t>& totals) {
    for (int64_t k = 0; k < buckets_; ++k) firsts_[At(k, begin)] = totals[static_cast<size_t>(k)];
  }
  // Called after all counts.
  void Place() { std::exclusive_scan(firsts_.begin(), firsts_.end(), firsts_.begin(), int64_t{0}); }
  FreeSlots Of(int64_t begin, int64_t ids_end) const {
    const auto n = static_cast<size_t>(buckets_);
    FreeSlots free{ScratchVector<int64_t>(n), ScratchVector<int64_t>(n), ids_end};
    for (size_t k = 0; k < n; ++k) {
      const size_t at = At(static_cast<int64_t>(k), begin);
      free.next[k] = firsts_[at];
      free.ends[k] = firsts_[at + 1];
    }
    return free;
  }

 private:
  size_t At(int64_t bucket, int64_t begin) const {
    return static_cast<size_t>(bucket * pieces_ + begin / kBags);
  }
  int64_t pieces_, buckets_;
  ScratchVector<int64_t> firsts_;
};

// Both passes. `visit(begin, end, fn)` calls fn(placing, begin', end') for each feature's share of
// bags [begin, end); a placing counts and scatters the ids of its bags. Count is true if it added
// each bucket's number of ids to its totals; if any did not, lengths are summed.
template <typename Visit>
Bucketized RunPasses(Context& ctx, const BucketizeInput& in, const Visit& visit) {
  const int64_t bags = in.bags.count();
  Bucketized result =
      EmptyResult(ctx, in, Tensor::Empty(ctx, {in.buckets * bags}, in.lengths.dtype()));
  PieceSlots slots(bags, in.buckets);
  VisitIndexType(in.indices.dtype(), "bucketize: indices", [&]<typename Index>() {
    VisitIndexType(in.lengths.dtype(), "bucketize: lengths", [&]<typename Length>() {
      ParallelFor(ctx, bags, kBags, [&](int64_t begin, int64_t end) {
        ScratchVector<int64_t> totals(static_cast<size_t>(in.buckets));
        bool summed = true;
        visit(begin, end, [&](const auto& placing, int64_t b, int64_t e) {
          summed &= placing.template Count<Index, Length>(in, result, b, e, totals.data());
        });
        if (summed)
          slots.Set(begin, totals);
        else
          slots.Count(result.lengths.data<Length>(), bags, begin, end);
      });
    });
    slots.Place();
    ParallelFor(ctx, bags, kBags, [&](int64_t begin, int64_t end) {
      FreeSlots free = slots.Of(begin, in.bags.offsets.data<int64_t>()[end]);
      visit(begin, end, [&](const auto& placing, int64_t b, int64_t e) {
        placing.template Scatter<Index>(in, result, &free, b, e);
      });
    });
  });
  return result;
}

// Counts and scatters one id after another, by any placer.
template <typename Placer>
struct Placing {
  Placer place;
  bool keep_ids;

  template <typename Index, typename Length>
  bool Count(const BucketizeInput& in, const Bucketized& result, int64_t begin, int64_t end,
             int64_t* /*totals*/) const {
    const int64_t *at = in.bags.offsets.data<int64_t>(), bags = in.bags.count();
    Length* lengths = result.lengths.data<Length>();
    for (int64_t k = 0; k < in.buckets; ++k)
      std::fill(lengths + k * bags + begin, lengths + k * bags + end, Length{0});
    const BagCounter<Index, Length> count{in.indices.data<Index>(), bags, in.buckets, lengths};
    for (int64_t b = begin; b < end; ++b) count(place, b, at[b], at[b + 1]);
    return false;
  }
  template <typename Index>
  void Scatter(const BucketizeInput& in, const Bucketized& result, FreeSlots* free, int64_t begin,
               int64_t end) const {
    const int64_t* at = in.bags.offsets.data<int64_t>();
    const BagScatterer<Index> scatter =
        MakeScatterer<Index>(in, result, free->next.data(), /*bags=*/1);
    for (int64_t b = begin; b < end; ++b) scatter(place, keep_ids, 0, at[b], at[b + 1]);
  }
};

std::vector<int64_t> PerFeature(const Tensor& t, const char* what) {
  std::vector<int64_t> numbers = ToInt64(t);
  for (size_t f = 0; f < numbers.size(); ++f)
    TESSERA_CHECK_GE(numbers[f], 0, "bucketize: {} of feature {}", what, f);
  return numbers;
}

// The facts and the scratch of one feature.
struct Feature {
  Feature() {}  // NOLINT: a vector of them need not be zeroed, `even` least of all

  uint64_t size = 0, blocks = 0;  // k and G of bucketize.h
  bool keep_ids = false;
  std::optional<BlockPlacer> by_blocks;          // of even blocks
  std::vector<int64_t> boundaries;               // empty: even blocks
  EvenBuckets even;                              // of even blocks, if they are few
  mutable std::atomic<bool> beyond_even{false};  // some id lies past the blocks
};

void SetEvenBlocks(Feature* f, int64_t buckets) {
  const auto w = static_cast<uint64_t>(buckets);
  f->by_blocks.emplace(f->size, f->blocks, w);
  if (buckets > kMaxEvenBuckets) return;
  f->even.buckets = buckets;
  f->even.width = SaturatedProduct(f->size, f->blocks == w ? 1 : f->blocks / w);
  for (int64_t k = 0; k + 1 < buckets; ++k)
    f->even.bounds[k] = SaturatedProduct(f->even.width, static_cast<uint64_t>(k) + 1);
  f->even.bounds[buckets - 1] = SaturatedProduct(f->size, f->blocks);
}

// The most buckets for which this instruction set's loops are faster than divisions. end: that of
// the ids.
int64_t MostEvenBuckets(IsaLevel isa, uint64_t end) {
  const bool compresses = isa == IsaLevel::kAvx512 || (isa == IsaLevel::kAvx2 && end <= kNarrowIds);
  return compresses ? kMaxEvenBuckets : 4;
}

// For fewer ids of one feature it is faster to take them one by one.
constexpr int64_t kManyIds = 48;

// Places the ids of one feature in even blocks or by boundaries.
class FeaturePlacing {
 public:
  FeaturePlacing(const Feature& feature, IsaLevel isa) : feature_(feature), isa_(isa) {}

  template <typename Index, typename Length>
  bool Count(const BucketizeInput& in, const Bucketized& result, int64_t begin, int64_t end,
             int64_t* totals) const {
    if (IsEven(in, begin, end)) {
      bool complete = false;
      const CountEvenArgs args{&feature_.even,
                               in.indices.raw_data(),
                               in.indices.numel(),
                               in.bags.offsets.data<int64_t>(),
                               result.lengths.raw_data(),
                               totals,
                               begin,
                               end,
                               in.bags.count(),
                               sizeof(Index) == 8,
                               sizeof(Length) == 8,
                               &complete};
      TESSERA_CALL_ISA(isa_, CountEven, args);
      if (complete) return true;
      feature_.beyond_even = true;
    }
    VisitPlacing(in, [&](const auto& placing) {
      placing.template Count<Index, Length>(in, result, begin, end, totals);
    });
    return false;
  }

  template <typename Index>
  void Scatter(const BucketizeInput& in, const Bucketized& result, FreeSlots* free, int64_t begin,
               int64_t end) const {
    if (!IsEven(in, begin, end))
      return VisitPlacing(in, [&](const auto& placing) {
        placing.template Scatter<Index>(in, result, free, begin, end);
      });
    const int64_t* at = in.bags.offsets.data<int64_t>();
    const DealEvenArgs args{&feature_.even,
                            in.indices.raw_data(),
                            in.indices.numel(),
                            result.indices.raw_data(),
                            in.slots ? result.unbucketize_permute.raw_data() : nullptr,
                            free->next.data(),
                            free->ends.data(),
                            at[begin],
                            at[end],
                            free->ids_end,
                            sizeof(Index) == 8,
                            feature_.keep_ids};
    TESSERA_CALL_ISA(isa_, DealEven, args);
  }

 private:
  // Whether bags [begin, end) are placed by even_buckets.
  bool IsEven(const BucketizeInput& in, int64_t begin, int64_t end) const {
    const int64_t* at = in.bags.offsets.data<int64_t>();
    return at[end] - at[begin] >= kManyIds && feature_.boundaries.empty() &&
           !feature_.beyond_even && !in.pos &&
           in.buckets <= MostEvenBuckets(isa_, SaturatedProduct(feature_.size, feature_.blocks));
  }
  // fn(placing), one id after another.
  template <typename Fn>
  void VisitPlacing(const BucketizeInput& in, const Fn& fn) const {
    const auto buckets = static_cast<uint64_t>(in.buckets);
    const std::vector<int64_t>& at = feature_.boundaries;
    if (at.empty())
      fn(Placing<BlockPlacer>{*feature_.by_blocks, feature_.keep_ids});
    else
      fn(Placing<BoundaryPlacer>{{at.data(), static_cast<int64_t>(at.size()), feature_.blocks,
                                  buckets, feature_.size == 0},
                                 feature_.keep_ids});
  }

  const Feature& feature_;
  IsaLevel isa_;
};

std::vector<Feature> MakeFeatures(const BlockBucketizeArgs& args) {
  const std::vector<int64_t> sizes = PerFeature(args.block_sizes, "block_sizes");
  std::vector<int64_t> totals;
  std::vector<bool> keep;
  if (args.total_num_blocks.defined())
    totals = PerFeature(args.total_num_blocks, "total_num_blocks");
  if (args.keep_orig_idx_per_feature.defined())
    keep = args.keep_orig_idx_per_feature.ToVector<bool>();
  std::vector<Feature> features(sizes.size());
  for (size_t f = 0; f < sizes.size(); ++f) {
    const int64_t total = totals.empty() ? args.my_size : totals[f];
    TESSERA_CHECK(totals.empty() || (total > 0 && total % args.my_size == 0),
                  "bucketize: total_num_blocks {} of feature {} is no multiple of my_size {}",
                  total, f, args.my_size);
    features[f].size = static_cast<uint64_t>(sizes[f]);
    features[f].blocks = static_cast<uint64_t>(total);
    features[f].keep_ids = keep.empty() ? args.keep_orig_idx : keep[f];
    if (args.block_bucketize_pos.empty())
      SetEvenBlocks(&features[f], args.my_size);
    else
      features[f].boundaries =
          CheckedOffsets(args.block_bucketize_pos[f], "bucketize: block_bucketize_pos");
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
  const std::vector<Feature> features = MakeFeatures(args);
  const std::vector<int64_t> at = FeatureOffsets(args, features.size(), in.bags.count());
  const IsaLevel isa = ChosenIsa();
  return RunPasses(ctx, in, [&](int64_t begin, int64_t end, const auto& fn) {
    auto f = static_cast<size_t>(std::upper_bound(at.begin(), at.end(), begin) - at.begin() - 1);
    for (; begin < end; ++f) {
      const int64_t stop = std::min(end, at[f + 1]);
      fn(FeaturePlacing(features[f], isa), begin, stop);
      begin = stop;
    }
  });
}

Bucketized BucketizeCyclic(OnCpu, Context& ctx, const BucketizeInput& in) {
  const Placing<CyclicPlacer> placing{{Divider(static_cast<uint64_t>(in.buckets))},
                                      /*keep_ids=*/false};
  return RunPasses(ctx, in,
                   [&](int64_t begin, int64_t end, const auto& fn) { fn(placing, begin, end); });
}

}  // namespace tessera::internal
