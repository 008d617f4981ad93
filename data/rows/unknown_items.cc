#include "data/rows/unknown_items.h"

#include <algorithm>

namespace tessera {
namespace {

double Share(const ItemCount& count) {
  return static_cast<double>(count.unknown) / static_cast<double>(count.items);
}

}  // namespace

void UnknownItems::Add(const RowRules& rules, const RowBlock& block) {
  const std::lock_guard lock(mutex_);
  if (features_.empty())
    for (const FeatureRule& rule : rules.features())
      features_.push_back({.feature = rule.entry.name,
                           .words = rule.entry.ids == IdKind::kVocabulary,
                           .rows = rule.ids.rows()});
  for (size_t f = 0; f < features_.size(); ++f) {
    features_[f].count.items += block.items[f].items;
    features_[f].count.unknown += block.items[f].unknown;
  }
}

std::vector<FeatureItems> UnknownItems::All() const {
  const std::lock_guard lock(mutex_);
  return features_;
}

std::vector<FeatureItems> UnknownItems::WithUnknown() const {
  std::vector<FeatureItems> features = All();
  std::erase_if(features, [](const FeatureItems& items) { return items.count.unknown == 0; });
  std::stable_sort(
      features.begin(), features.end(),
      [](const FeatureItems& a, const FeatureItems& b) { return Share(a.count) > Share(b.count); });
  return features;
}

}  // namespace tessera
