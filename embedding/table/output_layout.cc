#include "embedding/table/output_layout.h"

#include <algorithm>

namespace tessera::internal {
namespace {

int64_t FirstBag(const KeyedJaggedTensor& kjt, const FeatureShape& f) {
  return kjt.lengths_offset_per_key()[static_cast<size_t>(f.key)];
}
int64_t Bags(const KeyedJaggedTensor& kjt, const FeatureShape& f) {
  return kjt.stride_per_key()[static_cast<size_t>(f.key)];
}

int64_t InverseRow(const InverseIndices& inverse, const std::string& key) {
  const auto found = std::find(inverse.keys.begin(), inverse.keys.end(), key);
  TESSERA_CHECK(found != inverse.keys.end(), "key {} has no inverse indices", key);
  return found - inverse.keys.begin();
}

}  // namespace

OutputLayout::OutputLayout(const KeyedJaggedTensor& kjt, std::span<const FeatureShape> features)
    : has_pooled_(features.empty() ||
                  std::any_of(features.begin(), features.end(),
                              [](const FeatureShape& f) { return !f.sequence; })) {
  if (kjt.inverse_indices_or_none() != nullptr)
    PlaceDistinct(kjt, features);
  else if (kjt.variable_stride_per_key())
    PlaceByRank(kjt, features);
  else
    PlaceMatrix(kjt, features);
  PlaceSequences(kjt, features);
  const auto before = [](const OutputPart& a, const OutputPart& b) {
    return a.feature < b.feature;
  };
  // A stable sort takes memory even where there is nothing to sort.
  if (!std::is_sorted(parts_.begin(), parts_.end(), before))
    std::stable_sort(parts_.begin(), parts_.end(), before);
}

void OutputLayout::PlaceMatrix(const KeyedJaggedTensor& kjt,
                               std::span<const FeatureShape> features) {
  int64_t columns = 0;
  for (const FeatureShape& f : features) columns += f.sequence ? 0 : f.dim;
  int64_t column = 0;
  parts_.reserve(features.size());
  for (size_t i = 0; i < features.size(); ++i) {
    const FeatureShape& f = features[i];
    if (f.sequence) continue;
    parts_.emplace_back(static_cast<int>(i), FirstBag(kjt, f), kjt.stride(), -1, column, columns);
    column += f.dim;
  }
  distinct_shape_ = pooled_shape_ = {kjt.stride(), columns};
}

void OutputLayout::PlaceByRank(const KeyedJaggedTensor& kjt,
                               std::span<const FeatureShape> features) {
  const StridePerKeyPerRank bags = kjt.stride_per_key_per_rank();
  const size_t ranks = bags.empty() ? 0 : bags[0].size();
  ScratchVector<int64_t> next_bag;
  for (const FeatureShape& f : features) next_bag.push_back(FirstBag(kjt, f));
  int64_t size = 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (size_t i = 0; i < features.size(); ++i) {
      const FeatureShape& f = features[i];
      if (f.sequence) continue;
      const int64_t count = bags[static_cast<size_t>(f.key)][rank];
      parts_.emplace_back(static_cast<int>(i), next_bag[i], count, -1, size, f.dim);
      next_bag[i] += count;
      size += count * f.dim;
    }
  }
  distinct_shape_ = pooled_shape_ = {size};
}

void OutputLayout::PlaceDistinct(const KeyedJaggedTensor& kjt,
                                 std::span<const FeatureShape> features) {
  const InverseIndices& inverse = kjt.inverse_indices();
  inverse_ = inverse.indices;
  int64_t size = 0, columns = 0;
  for (size_t i = 0; i < features.size(); ++i) {
    const FeatureShape& f = features[i];
    if (f.sequence) continue;
    parts_.emplace_back(static_cast<int>(i), FirstBag(kjt, f), Bags(kjt, f), -1, size, f.dim);
    distinct_bags_.push_back(
        {Bags(kjt, f), f.dim, size, InverseRow(inverse, kjt.keys()[static_cast<size_t>(f.key)])});
    size += Bags(kjt, f) * f.dim;
    columns += f.dim;
  }
  distinct_shape_ = {size};
  pooled_shape_ = {inverse_.dim(1), columns};
}

void OutputLayout::PlaceSequences(const KeyedJaggedTensor& kjt,
                                  std::span<const FeatureShape> features) {
  for (size_t i = 0; i < features.size(); ++i) {
    const FeatureShape& f = features[i];
    if (!f.sequence) continue;
    parts_.emplace_back(static_cast<int>(i), FirstBag(kjt, f), Bags(kjt, f),
                        static_cast<int>(sequence_shapes_.size()), 0, f.dim);
    sequence_shapes_.push_back({kjt.length_per_key()[static_cast<size_t>(f.key)], f.dim});
  }
}

Tensor OutputLayout::Expand(Context& ctx, const Tensor& distinct) const {
  return inverse_ ? ExpandBags(ctx, distinct, distinct_bags_, inverse_) : distinct;
}
Tensor OutputLayout::Fold(Context& ctx, const Tensor& grad) const {
  return inverse_ ? FoldBags(ctx, grad, distinct_bags_, inverse_) : grad;
}

}  // namespace tessera::internal
