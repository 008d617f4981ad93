#include "embedding/table/kept_updates.h"

#include <utility>

#include "runtime/ops/shaping.h"
#include "runtime/tensor.h"
#include "sparse/ops/row_runs.h"

namespace tessera::internal {
namespace {

size_t RanksOf(const StridePerKeyPerRank& bags) { return bags.empty() ? 0 : bags[0].size(); }

// Bags and ids of the parts, counted by part, key and rank.
class Runs {
 public:
  Runs(Context& ctx, std::span<const UpdateBatch> parts) {
    const KeyedJaggedTensor& first = parts[0].kjt;
    for (const UpdateBatch& part : parts) {
      const KeyedJaggedTensor& kjt = part.kjt;
      TESSERA_CHECK(kjt.keys() == first.keys() &&
                        kjt.variable_stride_per_key() == first.variable_stride_per_key() &&
                        kjt.is_weighted() == first.is_weighted(),
                    "the micro-batches of one step differ in their keys, in having a batch for "
                    "each key, or in having weights");
      bags_.push_back(kjt.stride_per_key_per_rank());
      TESSERA_CHECK_EQ(RanksOf(bags_.back()), ranks(), "ranks of the micro-batches of one step");
      ids_.push_back(IdsOf(ctx, kjt, bags_.back()));
    }
  }

  size_t ranks() const { return RanksOf(bags_[0]); }
  const std::vector<StridePerKeyPerRank>& bags() const { return bags_; }
  const std::vector<StridePerKeyPerRank>& ids() const { return ids_; }

 private:
  static StridePerKeyPerRank IdsOf(Context& ctx, const KeyedJaggedTensor& kjt,
                                   const StridePerKeyPerRank& bags) {
    const Tensor offsets = kjt.offsets(ctx).To(ctx, DType::kI64).To(ctx, Device::Cpu());
    ctx.Sync();
    const std::span<const int64_t> first = offsets.span<int64_t>();
    StridePerKeyPerRank ids = bags;
    size_t bag = 0;
    for (std::vector<int64_t>& of_key : ids) {
      for (int64_t& of_rank : of_key) {
        const size_t begin = bag;
        bag += static_cast<size_t>(of_rank);
        of_rank = first[bag] - first[begin];
      }
    }
    return ids;
  }

  std::vector<StridePerKeyPerRank> bags_, ids_;  // of each part
};

// Reorders rows that lie by part, then x, then y: the result lies by x, then y, then part.
// counts[part][x][y]: rows.
Tensor PartsInnermost(Context& ctx, const std::vector<Tensor>& parts,
                      const std::vector<StridePerKeyPerRank>& counts) {
  std::vector<int64_t> offsets = {0}, picks;
  for (const StridePerKeyPerRank& part : counts)
    for (const std::vector<int64_t>& x : part)
      for (const int64_t rows : x) offsets.push_back(offsets.back() + rows);
  const size_t xs = counts[0].size(), ys = xs == 0 ? 0 : counts[0][0].size();
  for (size_t x = 0; x < xs; ++x)
    for (size_t y = 0; y < ys; ++y)
      for (size_t part = 0; part < parts.size(); ++part)
        picks.push_back(static_cast<int64_t>((part * xs + x) * ys + y));
  const Tensor joined = Concat(ctx, {parts.begin(), parts.end()}, 0).value();
  return SegmentSelection(ctx, offsets, picks).Gather(ctx, joined);
}

template <typename Member>
std::vector<Tensor> Each(std::span<const UpdateBatch> parts, Member&& member) {
  std::vector<Tensor> tensors;
  for (const UpdateBatch& part : parts) tensors.push_back(member(part));
  return tensors;
}

KeyedJaggedTensor JoinKjts(Context& ctx, std::span<const UpdateBatch> parts, const Runs& runs) {
  KeyedJaggedTensorArgs args{
      .keys = parts[0].kjt.keys(),
      .values = PartsInnermost(ctx, Each(parts, [](const auto& p) { return p.kjt.values(); }),
                               runs.ids())};
  args.lengths = PartsInnermost(ctx, Each(parts, [&](const auto& p) { return p.kjt.lengths(ctx); }),
                                runs.bags());
  if (parts[0].kjt.is_weighted())
    args.weights = PartsInnermost(
        ctx, Each(parts, [](const auto& p) { return p.kjt.weights().value(); }), runs.ids());
  if (!parts[0].kjt.variable_stride_per_key()) {
    args.stride = 0;
    for (const UpdateBatch& part : parts) *args.stride += part.kjt.stride();
    return KeyedJaggedTensor(std::move(args));
  }
  args.stride_per_key_per_rank = runs.bags()[0];
  for (size_t part = 1; part < parts.size(); ++part)
    for (size_t key = 0; key < args.stride_per_key_per_rank.size(); ++key)
      for (size_t rank = 0; rank < args.stride_per_key_per_rank[key].size(); ++rank)
        args.stride_per_key_per_rank[key][rank] += runs.bags()[part][key][rank];
  return KeyedJaggedTensor(std::move(args));
}

// A matrix lies below another; flat gradients are [rank][feature][bag].
Tensor JoinPooled(Context& ctx, std::span<const FeatureShape> features,
                  std::span<const UpdateBatch> parts, const Runs& runs) {
  const std::vector<Tensor> pooled = Each(parts, [](const auto& p) { return p.pooled; });
  if (!parts[0].kjt.variable_stride_per_key())
    return Concat(ctx, {pooled.begin(), pooled.end()}, 0).value();
  std::vector<StridePerKeyPerRank> elements;
  for (const StridePerKeyPerRank& bags : runs.bags()) {
    StridePerKeyPerRank& of_part = elements.emplace_back(runs.ranks());
    for (size_t rank = 0; rank < runs.ranks(); ++rank)
      for (const FeatureShape& f : features)
        if (!f.sequence) of_part[rank].push_back(bags[static_cast<size_t>(f.key)][rank] * f.dim);
  }
  return PartsInnermost(ctx, pooled, elements);
}

// The rows of one key's ids.
Tensor JoinSequence(Context& ctx, size_t key, const std::vector<Tensor>& parts, const Runs& runs) {
  std::vector<StridePerKeyPerRank> rows;
  for (const StridePerKeyPerRank& ids : runs.ids()) rows.push_back({ids[key]});
  return PartsInnermost(ctx, parts, rows);
}

}  // namespace

UpdateBatch JoinUpdates(Context& ctx, std::span<const FeatureShape> features,
                        std::span<const UpdateBatch> parts) {
  const Runs runs(ctx, parts);
  UpdateBatch joined;
  joined.kjt = JoinKjts(ctx, parts, runs);
  if (parts[0].pooled) joined.pooled = JoinPooled(ctx, features, parts, runs);
  size_t next = 0;
  for (const FeatureShape& f : features) {
    if (!f.sequence) continue;
    const size_t sequence = next++;
    joined.sequences.push_back(
        JoinSequence(ctx, static_cast<size_t>(f.key),
                     Each(parts, [&](const auto& p) { return p.sequences[sequence]; }), runs));
  }
  return joined;
}

KeptUpdates::KeptUpdates(int forwards) : forwards_(forwards) {
  TESSERA_CHECK_GE(forwards, 1, "forwards of one step");
}

bool KeptUpdates::BeginForward() {
  if (!accumulates()) return true;
  TESSERA_CHECK(
      begun_ < forwards_,
      "forward {} of a step of {}: its backward has not come, or a new step was not begun",
      begun_ + 1, forwards_);
  return begun_++ == 0;
}

std::vector<UpdateBatch> KeptUpdates::Keep(UpdateBatch update) {
  kept_.push_back(std::move(update));
  if (static_cast<int>(kept_.size()) < forwards_) return {};
  begun_ = 0;
  return std::exchange(kept_, {});
}

}  // namespace tessera::internal
