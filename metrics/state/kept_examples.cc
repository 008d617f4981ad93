#include "metrics/state/kept_examples.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace tessera {

void KeptExamples::Append(const ScoredExamples& batch, std::span<const int64_t> groups) {
  CheckSizes(batch);
  predictions_.insert(predictions_.end(), batch.predictions.begin(), batch.predictions.end());
  labels_.insert(labels_.end(), batch.labels.begin(), batch.labels.end());
  if (batch.weights.empty())
    weights_.insert(weights_.end(), batch.size(), 1.0f);
  else
    weights_.insert(weights_.end(), batch.weights.begin(), batch.weights.end());
  groups_.insert(groups_.end(), groups.begin(), groups.end());
  TESSERA_CHECK(groups_.empty() || groups_.size() == labels_.size(),
                "kept examples: {} groups for {} examples", groups.size(), batch.size());
}

void KeptExamples::KeepLast(size_t count) {
  if (size() > count) begin_ = labels_.size() - count;
  if (begin_ <= labels_.size() / 2) return;
  const auto cut = [&](auto& column) {
    column.erase(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(begin_));
  };
  cut(predictions_);
  cut(labels_);
  cut(weights_);
  if (!groups_.empty()) cut(groups_);
  begin_ = 0;
}

ScoredExamples KeptExamples::Last(size_t count) const {
  count = std::min(count, size());
  const auto end_of = [&](const std::vector<float>& column) {
    return std::span(column).last(count);
  };
  return {end_of(predictions_), end_of(labels_), end_of(weights_)};
}

std::span<const int64_t> KeptExamples::groups() const {
  return std::span(groups_).last(groups_.empty() ? 0 : size());
}

}  // namespace tessera
