#include "sparse/ids/bucketize.h"

#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "runtime/device/dispatch.h"
#include "sparse/ids/bucketize_impl.h"
#include "sparse/ops/row_runs.h"

namespace tessera {
namespace internal {

Bucketized EmptyResult(Context& ctx, const BucketizeInput& in, Tensor lengths) {
  Bucketized result;
  result.lengths = std::move(lengths);
  const auto make = [&] { return Tensor::Empty(ctx, in.indices.shape(), in.indices.dtype()); };
  result.indices = make();
  if (in.pos) result.pos = make();
  if (in.slots) result.unbucketize_permute = make();
  return result;
}

}  // namespace internal

namespace {

internal::BucketizeInput MakeInput(Context& ctx, const Tensor& lengths, const Tensor& indices,
                                   int64_t my_size, bool pos, bool slots) {
  if (my_size < 1 || my_size > std::numeric_limits<int32_t>::max())
    throw Error(Format("bucketize: my_size {}; expected 1 to 2^31 − 1", my_size));
  TESSERA_CHECK_EQ(indices.rank(), 1, "bucketize: indices {}", indices.shape());
  TESSERA_CHECK(
      indices.dtype() != DType::kI32 || indices.dim(0) <= std::numeric_limits<int32_t>::max(),
      "bucketize: {} ids need to be i64", indices.dim(0));
  VisitIndexType(indices.dtype(), "bucketize: indices", []<typename T>() {});
  return {lengths.Contiguous(ctx),
          indices.Contiguous(ctx),
          my_size,
          pos,
          slots,
          SegmentsOverLengths(ctx, lengths, indices.dim(0), "bucketize: lengths")};
}

class BucketizeWeightsFunction : public Function {
 public:
  explicit BucketizeWeightsFunction(Tensor slots) : slots_(std::move(slots)) {}
  std::string_view name() const override { return "BucketizeWeights"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {TakeRows(ctx, grads[0], slots_)};
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
                             PlaceRows(ctx, weights, slots));
  }
  if (!sequence) result->unbucketize_permute = {};
}

// The bucket of each input id: ids of a bucket lie side by side.
Tensor BucketsOf(Context& ctx, const Bucketized& result, int64_t my_size) {
  const std::vector<int64_t> lengths = ToInt64(result.lengths);
  const Tensor of_slot = Tensor::Empty(ctx, result.indices.shape(), DType::kI64);
  const int64_t bags = std::ssize(lengths) / my_size;
  int64_t begin = 0;
  for (int64_t bucket = 0; bucket < my_size; ++bucket) {
    const auto first = lengths.begin() + bucket * bags;
    const int64_t end = std::accumulate(first, first + bags, begin);
    of_slot.Rows(begin, end).Fill(ctx, static_cast<double>(bucket));
    begin = end;
  }
  return TakeRows(ctx, of_slot, result.unbucketize_permute);
}

void CheckPerFeature(const Tensor& t, int64_t features, const char* what) {
  if (!t.defined()) return;
  TESSERA_CHECK_EQ(t.shape(), Shape{features}, "{}, one a feature", what);
}
void CheckNumbers(const Tensor& t, int64_t features, const char* what) {
  CheckPerFeature(t, features, what);
  if (t.defined()) VisitIndexType(t.dtype(), what, []<typename T>() {});
}

void CheckShapes(const BlockBucketizeArgs& args, int64_t bags) {
  const int64_t features = args.block_sizes.numel();
  CheckNumbers(args.block_sizes, features, "bucketize: block_sizes");
  CheckNumbers(args.total_num_blocks, features, "bucketize: total_num_blocks");
  CheckNumbers(args.batch_size_per_feature, features, "bucketize: batch_size_per_feature");
  CheckPerFeature(args.keep_orig_idx_per_feature, features, "bucketize: keep_orig_idx_per_feature");
  if (args.keep_orig_idx_per_feature.defined())
    TESSERA_CHECK_EQ(args.keep_orig_idx_per_feature.dtype(), DType::kBool,
                     "bucketize: keep_orig_idx_per_feature");
  if (!args.batch_size_per_feature.defined())
    TESSERA_CHECK(features > 0 ? bags % features == 0 : bags == 0,
                  "bucketize: {} lengths of {} features", bags, features);
  if (args.block_bucketize_pos.empty()) return;
  TESSERA_CHECK_EQ(args.block_bucketize_pos.size(), static_cast<size_t>(features),
                   "bucketize: block_bucketize_pos, one a feature");
  for (int64_t f = 0; f < features; ++f) {
    const Tensor& pos = args.block_bucketize_pos[static_cast<size_t>(f)];
    TESSERA_CHECK(pos.rank() == 1 && pos.dim(0) >= 2, "bucketize: boundaries {} of feature {}",
                  pos.shape(), f);
  }
}

}  // namespace

Bucketized BlockBucketizeSparseFeatures(Context& ctx, const BlockBucketizeArgs& args) {
  CheckDevice(ctx, "BlockBucketizeSparseFeatures", args.lengths, args.indices, args.block_sizes,
              args.weights, args.batch_size_per_feature, args.total_num_blocks,
              args.keep_orig_idx_per_feature);
  for (const Tensor& pos : args.block_bucketize_pos) CheckDevice(ctx, "block_bucketize_pos", pos);
  const internal::BucketizeInput in =
      MakeInput(ctx, args.lengths, args.indices, args.my_size, args.bucketize_pos,
                args.sequence || args.weights.defined() || args.bucket_mapping);
  CheckWeights(args.weights, args.indices);
  CheckShapes(args, in.bags.count());
  Bucketized result = DispatchDevice(
      ctx.device(), [&](auto on) { return internal::BucketizeBlocks(on, ctx, in, args); });
  if (args.bucket_mapping) result.bucket_mapping = BucketsOf(ctx, result, args.my_size);
  MoveWeights(ctx, args.weights, args.sequence, &result);
  return result;
}

Tensor PopulateBucketizedPermute(Context& ctx, const Tensor& lengths,
                                 const Tensor& bucketized_lengths, const Tensor& bucket_mapping) {
  CheckDevice(ctx, "PopulateBucketizedPermute", lengths, bucketized_lengths, bucket_mapping);
  const std::vector<int64_t> of_bags = ToInt64(lengths), sent = ToInt64(bucketized_lengths),
                             buckets = ToInt64(bucket_mapping);
  const size_t bags = of_bags.size();
  TESSERA_CHECK(bags == 0 ? sent.empty() : sent.size() % bags == 0,
                "PopulateBucketizedPermute: {} bucketized lengths of {} bags", sent.size(), bags);
  TESSERA_CHECK(HostOffsets(of_bags).back() == std::ssize(buckets) &&
                    HostOffsets(sent).back() == std::ssize(buckets),
                "PopulateBucketizedPermute: lengths of {} and {} ids, and {} buckets",
                HostOffsets(of_bags).back(), HostOffsets(sent).back(), buckets.size());
  std::vector<int64_t> next = HostOffsets(sent), permute;
  size_t id = 0;
  for (size_t bag = 0; bag < bags; ++bag)
    for (int64_t n = of_bags[bag]; n > 0; --n) {
      const size_t place = static_cast<size_t>(buckets[id++]) * bags + bag;
      TESSERA_CHECK(place < sent.size(), "PopulateBucketizedPermute: bucket {} of {}",
                    buckets[id - 1], sent.size() / bags);
      permute.push_back(next[place]++);
    }
  const std::vector<int64_t> ends = HostOffsets(sent);
  for (size_t place = 0; place < sent.size(); ++place)
    TESSERA_CHECK_EQ(next[place], ends[place + 1],
                     "PopulateBucketizedPermute: end of the ids of bag {} in bucket {}",
                     place % bags, place / bags);
  return Tensor::From(ctx, permute).To(ctx, bucket_mapping.dtype());
}

Bucketized BucketizeSparseFeatures(Context& ctx, const Tensor& lengths, const Tensor& indices,
                                   int64_t my_size, bool bucketize_pos, const Variable& weights) {
  CheckDevice(ctx, "BucketizeSparseFeatures", lengths, indices, weights);
  const internal::BucketizeInput in =
      MakeInput(ctx, lengths, indices, my_size, bucketize_pos, weights.defined());
  CheckWeights(weights, indices);
  Bucketized result =
      DispatchDevice(ctx.device(), [&](auto on) { return internal::BucketizeCyclic(on, ctx, in); });
  MoveWeights(ctx, weights, /*sequence=*/false, &result);
  return result;
}

}  // namespace tessera
