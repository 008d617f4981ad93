#include "sharding/exchange/row_split.h"

#include <cstring>
#include <utility>

#include "embedding/lookup/feature_items.h"
#include "embedding/lookup/index_array.h"
#include "runtime/device/dispatch.h"
#include "sharding/exchange/row_split_impl.h"
#include "sparse/ops/cumsum.h"
#include "sparse/ops/row_runs.h"

namespace tessera {
namespace {

using internal::SplitBlock;
using internal::SplitFeature;

constexpr int64_t kBagsAtOnce = 512;

// The size of the blocks if all have it, except perhaps the last; else 0.
int64_t EvenRows(const SplitBags& bags) {
  if (bags.rows[0] != 0) return 0;
  const int64_t size = bags.rows.size() > 1 ? bags.rows[1] : bags.end;
  for (size_t b = 0; b < bags.rows.size(); ++b)
    if (bags.rows[b] != static_cast<int64_t>(b) * size) return 0;
  return static_cast<int64_t>(bags.rows.size()) * size >= bags.end ? size : 0;
}

Tensor OnDevice(Context& ctx, const std::vector<SplitBlock>& blocks) {
  std::vector<uint8_t> bytes(blocks.size() * sizeof(SplitBlock));
  if (!blocks.empty()) std::memcpy(bytes.data(), blocks.data(), bytes.size());
  return Tensor::From(ctx, bytes);
}

std::vector<SplitFeature> MakeFeatures(const std::vector<SplitBags>& bags, const Tensor& offsets,
                                       const Tensor& blocks) {
  std::vector<SplitFeature> features;
  const auto* next = static_cast<const SplitBlock*>(blocks.raw_data());
  for (const SplitBags& b : bags) {
    SplitFeature f;
    f.count = b.num_bags;
    f.ids = ArrayOf(b.ids);
    f.begin = b.begin;
    f.first_bag = b.first_bag;
    f.offsets = ArrayOf(offsets);
    f.blocks = next;
    f.num_blocks = static_cast<int64_t>(b.rows.size());
    f.end = b.end;
    f.parts = b.parts;
    if (const int64_t even = EvenRows(b); even > 0) {
      f.even = true;
      f.rows_a_block = internal::Divider(static_cast<uint64_t>(even));
    }
    features.push_back(f);
    next += b.rows.size();
  }
  return features;
}

}  // namespace

RowSplit::RowSplit(Context& ctx, const Tensor& offsets, std::vector<SplitBags> features)
    : features_(std::move(features)), bag_offsets_(offsets) {
  int64_t total = 0;
  for (const SplitBags& f : features_) {
    first_block_.push_back(first_length_.size());
    for (size_t b = 0; b < f.rows.size(); ++b) {
      first_length_.push_back(total);
      total += f.num_bags;
    }
  }
  if (features_.empty()) return;
  lengths_ = Tensor::Empty(ctx, {total}, DType::kI32);
  std::vector<SplitBlock> blocks(first_length_.size());
  for (size_t f = 0; f < features_.size(); ++f)
    for (size_t b = 0; b < features_[f].rows.size(); ++b) {
      SplitBlock& block = blocks[At(f, b)];
      block.row = features_[f].rows[b];
      block.lengths = lengths_.data<int32_t>() + first_length_[At(f, b)];
    }
  const Tensor placed = OnDevice(ctx, blocks);
  const std::vector<SplitFeature> split = MakeFeatures(features_, bag_offsets_, placed);
  DispatchDevice(ctx.device(), [&](auto on) {
    internal::ForBags(on, ctx, std::span<const SplitFeature>(split), internal::CountBag{});
  });
  places_ = CompleteCumsum(ctx, lengths_.To(ctx, DType::kI64));
  std::vector<int64_t> ends = first_length_;
  ends.push_back(total);
  const std::vector<int64_t> sums =
      TakeRows(ctx, places_, Tensor::From(ctx, ends)).ToVector<int64_t>();
  for (size_t b = 0; b + 1 < sums.size(); ++b) counts_.push_back(sums[b + 1] - sums[b]);
}

Tensor RowSplit::lengths(size_t feature, size_t block) const {
  const int64_t first = first_length_[At(feature, block)];
  return lengths_.Rows(first, first + features_[feature].num_bags);
}

void RowSplit::Place(Context& ctx, const float* weights, const std::vector<SplitPlace>& places) {
  if (features_.empty()) return;
  std::vector<SplitBlock> blocks(places.size());
  int64_t base = 0;
  for (size_t f = 0; f < features_.size(); ++f)
    for (size_t b = 0; b < features_[f].rows.size(); ++b) {
      const size_t i = At(f, b);
      blocks[i] = {features_[f].rows[b],
                   nullptr,
                   places_.data<int64_t>() + first_length_[i],
                   base,
                   places[i].ids,
                   places[i].positions,
                   places[i].weights};
      base += counts_[i];
    }
  const Tensor placed = OnDevice(ctx, blocks);
  std::vector<SplitFeature> split = MakeFeatures(features_, bag_offsets_, placed);
  for (SplitFeature& f : split) f.weights = weights;
  DispatchDevice(ctx.device(), [&](auto on) {
    internal::ForBags(on, ctx, std::span<const SplitFeature>(split), internal::PlaceBag{});
  });
}

namespace internal {

void ForBags(OnCpu on, Context& ctx, std::span<const SplitFeature> features, const CountBag& fn) {
  ForEachItem(on, ctx, features, kBagsAtOnce, fn);
}
void ForBags(OnCpu on, Context& ctx, std::span<const SplitFeature> features, const PlaceBag& fn) {
  ForEachItem(on, ctx, features, kBagsAtOnce, fn);
}

}  // namespace internal
}  // namespace tessera
