// The wire order of a KeyedJaggedTensor in an all-to-all, and back.
#include <numeric>
#include <utility>

#include "sparse/keyed_jagged_tensor.h"
#include "sparse/ops/offsets_check.h"
#include "sparse/ops/row_runs.h"
#include "sparse/ops/segments.h"

namespace tessera {
namespace {

// Source ranks in the order in which a key's bags are joined.
std::vector<int64_t> StaggeredRanks(int64_t ranks, int64_t stagger) {
  TESSERA_CHECK(stagger >= 1 && ranks % stagger == 0, "stagger {} of {} ranks", stagger, ranks);
  std::vector<int64_t> order;
  for (int64_t x = 0; x < ranks / stagger; ++x)
    for (int64_t y = 0; y < stagger; ++y) order.push_back(x + ranks / stagger * y);
  return order;
}

// Bags of block (rank, key), rank-major.
std::vector<int64_t> BlockBags(const KeyedJaggedTensorDistArgs& args) {
  const size_t keys = args.keys.size();
  if (args.variable_stride_per_key) {
    std::vector<int64_t> bags = ToInt64(args.tensors[2].value());
    TESSERA_CHECK_EQ(bags.size(), keys * static_cast<size_t>(args.ranks),
                     "received strides, ranks times keys");
    for (size_t i = 0; i < bags.size(); ++i)
      TESSERA_CHECK_GE(bags[i], 0, "stride of key \"{}\" from rank {}", args.keys[i % keys],
                       i / keys);
    return bags;
  }
  TESSERA_CHECK_EQ(static_cast<int64_t>(args.stride_per_rank.size()), args.ranks,
                   "strides, one a rank");
  std::vector<int64_t> bags;
  for (int64_t b : args.stride_per_rank) {
    TESSERA_CHECK_GE(b, 0, "stride of a rank");
    bags.insert(bags.end(), keys, b);
  }
  return bags;
}

// [F][ranks] in staggered order.
StridePerKeyPerRank Strides(const std::vector<int64_t>& block_bags, int64_t keys,
                            const std::vector<int64_t>& ranks) {
  StridePerKeyPerRank strides(static_cast<size_t>(keys));
  for (int64_t f = 0; f < keys; ++f)
    for (int64_t r : ranks)
      strides[static_cast<size_t>(f)].push_back(block_bags[static_cast<size_t>(r * keys + f)]);
  return strides;
}

// The moves of the blocks' values. On a device their totals stay there: all blocks are taken, each
// once, so the number of values is known.
std::shared_ptr<const SegmentSelection> BlocksOfValues(Context& ctx,
                                                       const KeyedJaggedTensorDistArgs& args,
                                                       const std::vector<int64_t>& bag_offsets,
                                                       const std::vector<int64_t>& recat) {
  const Tensor& lengths = args.tensors[0].value();
  const int64_t rows = args.tensors[1].dim(0), keys = static_cast<int64_t>(args.keys.size());
  if (ctx.device() == Device::Cpu()) {
    const auto name = [&](int64_t block) {
      return Format("key \"{}\" from rank {}", args.keys[static_cast<size_t>(block % keys)],
                    block / keys);
    };
    const std::vector<int64_t> totals =
        CheckedTotals({lengths, {}, bag_offsets, rows, "received", name});
    return std::make_shared<const SegmentSelection>(ctx, HostOffsets(totals), recat);
  }
  const Segments bags = SegmentsOverLengths(ctx, lengths, rows, "received");
  const Tensor blocks = TakeRows(ctx, bags.offsets, Tensor::From(ctx, bag_offsets));
  return std::make_shared<const SegmentSelection>(ctx, blocks, blocks.dim(0) - 1, rows,
                                                  Tensor::From(ctx, recat), rows);
}

}  // namespace

std::vector<int64_t> RecatIndices(int64_t keys, int64_t ranks, int64_t stagger) {
  TESSERA_CHECK(keys >= 0, "recat indices of {} keys", keys);
  std::vector<int64_t> recat;
  for (int64_t i = 0; i < keys; ++i)
    for (int64_t j : StaggeredRanks(ranks, stagger)) recat.push_back(i + j * keys);
  return recat;
}

std::vector<std::string> KeyedJaggedTensor::DistLabels() const {
  std::vector<std::string> labels = {"lengths", "values"};
  if (variable_stride_per_key()) labels.push_back("strides");
  if (is_weighted()) labels.push_back("weights");
  return labels;
}

std::vector<std::vector<int64_t>> KeyedJaggedTensor::DistSplits(
    const std::vector<int64_t>& key_splits) const {
  const std::vector<int64_t> at = HostOffsets(key_splits);
  for (size_t r = 0; r < key_splits.size(); ++r)
    TESSERA_CHECK_GE(key_splits[r], 0, "keys for rank {}", r);
  TESSERA_CHECK_EQ(at.back(), num_keys(),
                   "KeyedJaggedTensor::DistSplits: the sum of key splits, and the keys");
  const auto sums = [&](const std::vector<int64_t>& offsets) {
    std::vector<int64_t> of_rank;
    for (size_t r = 0; r < key_splits.size(); ++r)
      of_rank.push_back(offsets[static_cast<size_t>(at[r + 1])] -
                        offsets[static_cast<size_t>(at[r])]);
    return of_rank;
  };
  std::vector<std::vector<int64_t>> splits = {sums(lengths_offset_per_key()),
                                              sums(offset_per_key())};
  if (variable_stride_per_key()) splits.push_back(key_splits);
  if (is_weighted()) splits.push_back(splits[1]);
  return splits;
}

std::vector<Variable> KeyedJaggedTensor::DistTensors(Context& ctx) const {
  std::vector<Variable> tensors = {lengths(ctx), values()};
  if (variable_stride_per_key()) tensors.push_back(Tensor::From(ctx, stride_per_key()));
  if (is_weighted()) tensors.push_back(state_->weights);
  return tensors;
}

KeyedJaggedTensor KeyedJaggedTensorFromDist(Context& ctx, const KeyedJaggedTensorDistArgs& args) {
  const size_t plain = args.variable_stride_per_key ? 3 : 2;
  TESSERA_CHECK(args.tensors.size() == plain || args.tensors.size() == plain + 1,
                "received {} tensors of a KeyedJaggedTensor, expected {} or {}",
                args.tensors.size(), plain, plain + 1);
  const auto keys = static_cast<int64_t>(args.keys.size());
  const std::vector<int64_t> block_bags = BlockBags(args), bag_offsets = HostOffsets(block_bags);
  const Tensor &lengths = args.tensors[0].value(), &values = args.tensors[1].value();
  for (const Variable& t : args.tensors) CheckDevice(ctx, "KeyedJaggedTensorFromDist", t);
  TESSERA_CHECK_EQ(CheckedBags(lengths, {}, "received"), bag_offsets.back(),
                   "received lengths, and the sum of strides");
  const std::vector<int64_t> recat = RecatIndices(keys, args.ranks, args.stagger);
  const auto of_values = BlocksOfValues(ctx, args, bag_offsets, recat);
  KeyedJaggedTensorArgs result{.keys = args.keys, .values = of_values->Gather(ctx, values)};
  result.lengths = SegmentSelection(ctx, bag_offsets, recat).Gather(ctx, lengths);
  if (args.tensors.size() > plain)
    result.weights = SelectSegments(ctx, args.tensors[plain], of_values);
  if (args.variable_stride_per_key)
    result.stride_per_key_per_rank =
        Strides(block_bags, keys, StaggeredRanks(args.ranks, args.stagger));
  else
    result.stride =
        std::accumulate(args.stride_per_rank.begin(), args.stride_per_rank.end(), int64_t{0});
  result.unique_keys = false;
  return KeyedJaggedTensor(std::move(result));
}

}  // namespace tessera
