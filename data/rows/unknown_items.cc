#include "data/rows/unknown_items.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tessera {
namespace {

double Share(const ItemCount& count) {
  return static_cast<double>(count.unknown) / static_cast<double>(count.items);
}

class Counted final : public DataSource {
 public:
  Counted(std::unique_ptr<DataSource> source, std::vector<CategoricalFeature> features,
          std::shared_ptr<UnknownItems> unknown)
      : source_(std::move(source)), features_(std::move(features)), unknown_(std::move(unknown)) {}

  std::optional<Batch> Next() override {
    std::optional<Batch> batch = source_->Next();
    if (batch && !batch->items.empty()) unknown_->Add(features_, batch->items);
    return batch;
  }
  int64_t skipped_rows() const override { return source_->skipped_rows(); }
  BadLineCounts skipped_by_reason() const override { return source_->skipped_by_reason(); }

 private:
  std::unique_ptr<DataSource> source_;
  const std::vector<CategoricalFeature> features_;
  const std::shared_ptr<UnknownItems> unknown_;
};

}  // namespace

void UnknownItems::Add(const RowRules& rules, const RowBlock& block) {
  const std::lock_guard lock(mutex_);
  if (features_.empty())
    for (const FeatureRule& rule : rules.features())
      features_.push_back({.feature = rule.entry.name,
                           .words = rule.entry.ids == IdKind::kVocabulary,
                           .rows = rule.ids.rows()});
  AddCounts(block.items);
}

void UnknownItems::Add(const std::vector<CategoricalFeature>& features,
                       const std::vector<ItemCount>& items) {
  const std::lock_guard lock(mutex_);
  if (features_.empty())
    for (const CategoricalFeature& feature : features)
      features_.push_back({.feature = feature.name, .rows = CheckedHashSize(feature)});
  AddCounts(items);
}

void UnknownItems::Add(const std::vector<FeatureItems>& counted) {
  const std::lock_guard lock(mutex_);
  if (features_.empty()) {
    features_ = counted;
    return;
  }
  std::vector<ItemCount> items(features_.size());
  for (size_t f = 0; f < counted.size(); ++f) items[f] = counted[f].count;
  AddCounts(items);
}

void UnknownItems::AddCounts(const std::vector<ItemCount>& items) {
  for (size_t f = 0; f < features_.size(); ++f) {
    features_[f].count.items += items[f].items;
    features_[f].count.unknown += items[f].unknown;
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

std::unique_ptr<DataSource> CountedItems(std::unique_ptr<DataSource> source,
                                         std::vector<CategoricalFeature> features,
                                         std::shared_ptr<UnknownItems> unknown) {
  return std::make_unique<Counted>(std::move(source), std::move(features), std::move(unknown));
}

}  // namespace tessera
