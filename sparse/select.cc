#include "sparse/select.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sparse/row_runs.h"
#include "sparse/segments.h"

namespace tessera {
namespace {

// lengths[picks[i]] for all i.
Tensor PickLengths(Context& ctx, const Tensor& lengths, const std::vector<int64_t>& picks) {
  std::vector<int64_t> one_each(static_cast<size_t>(lengths.numel()) + 1);
  std::iota(one_each.begin(), one_each.end(), int64_t{0});
  return SegmentSelection(std::move(one_each), picks).Gather(ctx, lengths);
}

void CheckSegments(const Variable& values, const Tensor& lengths, int64_t sum) {
  TESSERA_CHECK_EQ(lengths.rank(), 1, "lengths {}", lengths.shape());
  TESSERA_CHECK(values.rank() >= 1 && values.dim(0) == sum, "lengths sum to {}, and values are {}",
                sum, values.shape());
}

// Pieces of rows as a selection that takes those of `keep`: pieces are cut at `cuts`, which starts
// at 0 and ends at N.
Variable Keep(Context& ctx, const Variable& values, std::vector<int64_t> cuts,
              std::vector<int64_t> keep) {
  return SelectSegments(ctx, values,
                        std::make_shared<const SegmentSelection>(std::move(cuts), std::move(keep)));
}

}  // namespace

Jagged JaggedIndexSelect(Context& ctx, const Variable& values, const Tensor& lengths,
                         const Tensor& indices) {
  std::vector<int64_t> offsets = OffsetsOfLengths(lengths);
  CheckSegments(values, lengths, offsets.back());
  auto selection = std::make_shared<const SegmentSelection>(std::move(offsets), ToInt64(indices));
  Tensor picked = PickLengths(ctx, lengths, selection->picks());
  return {SelectSegments(ctx, values, std::move(selection)), std::move(picked)};
}

KeyedJaggedSelection KeyedJaggedIndexSelectDim1(Context& ctx, const Variable& values,
                                                const Tensor& lengths, const Tensor& offsets,
                                                const Tensor& indices, int64_t batch_size,
                                                const Variable& weights) {
  std::vector<int64_t> host = OffsetsOfLengths(lengths);
  CheckSegments(values, lengths, host.back());
  if (offsets.defined())
    TESSERA_CHECK(ToInt64(offsets) == host,
                  "KeyedJaggedIndexSelectDim1: offsets are not the cumulative sum of lengths");
  TESSERA_CHECK(batch_size > 0 && lengths.dim(0) % batch_size == 0, "{} lengths and batch_size {}",
                lengths.dim(0), batch_size);
  const std::vector<int64_t> chosen = ToInt64(indices);
  std::vector<int64_t> picks;
  for (int64_t key = 0; key < lengths.dim(0) / batch_size; ++key)
    for (size_t i = 0; i < chosen.size(); ++i) {
      TESSERA_CHECK(chosen[i] >= 0 && chosen[i] < batch_size,
                    "index {} at position {}: there are {} bags", chosen[i], i, batch_size);
      picks.push_back(key * batch_size + chosen[i]);
    }
  const auto selection =
      std::make_shared<const SegmentSelection>(std::move(host), std::move(picks));
  return {SelectSegments(ctx, values, selection), PickLengths(ctx, lengths, selection->picks()),
          SelectSegments(ctx, weights, selection)};
}

Jagged MaskedSelectJagged1d(Context& ctx, const Variable& values, const Tensor& lengths,
                            const Tensor& mask) {
  const std::vector<int64_t> offsets = OffsetsOfLengths(lengths);
  CheckSegments(values, lengths, offsets.back());
  TESSERA_CHECK_EQ(mask.shape(), (Shape{values.dim(0)}), "mask");
  const Tensor flags = mask.Contiguous(ctx);
  const bool* keep = flags.data<bool>();
  Tensor left = Tensor::Empty(ctx, lengths.shape(), lengths.dtype());
  VisitIndexType(lengths.dtype(), "lengths", [&]<typename T>() {
    for (size_t s = 0; s + 1 < offsets.size(); ++s)
      left.data<T>()[s] =
          static_cast<T>(std::count(keep + offsets[s], keep + offsets[s + 1], true));
  });
  // Runs of equal flags; every other one stays.
  std::vector<int64_t> cuts = {0}, kept;
  for (int64_t i = 0; i < values.dim(0); ++i) {
    if (i > 0 && keep[i] != keep[i - 1]) cuts.push_back(i);
    if (keep[i] && (kept.empty() || kept.back() != static_cast<int64_t>(cuts.size()) - 1))
      kept.push_back(static_cast<int64_t>(cuts.size()) - 1);
  }
  if (values.dim(0) > 0) cuts.push_back(values.dim(0));
  return {Keep(ctx, values, std::move(cuts), std::move(kept)), std::move(left)};
}

Variable Jagged1dToTruncatedValues(Context& ctx, const Variable& values, const Tensor& lengths,
                                   int64_t max_truncated_length) {
  TESSERA_CHECK_GE(max_truncated_length, 0, "max_truncated_length");
  const std::vector<int64_t> offsets = OffsetsOfLengths(lengths);
  CheckSegments(values, lengths, offsets.back());
  // Each segment is a head that stays and a tail that goes.
  std::vector<int64_t> cuts = {0}, heads;
  for (size_t s = 0; s + 1 < offsets.size(); ++s) {
    heads.push_back(static_cast<int64_t>(2 * s));
    cuts.push_back(std::min(offsets[s] + max_truncated_length, offsets[s + 1]));
    cuts.push_back(offsets[s + 1]);
  }
  return Keep(ctx, values, std::move(cuts), std::move(heads));
}

}  // namespace tessera
