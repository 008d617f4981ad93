#include "metrics/state/pair_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace tessera {
namespace {

// A Fenwick tree: weights by rank, and sums of those before a rank.
class PrefixSums {
 public:
  explicit PrefixSums(size_t n) : tree_(n + 1) {}
  void Add(size_t rank, double w) {
    for (size_t i = rank + 1; i < tree_.size(); i += i & (~i + 1)) tree_[i] += w;
  }
  double Before(size_t rank) const {
    double sum = 0;
    for (size_t i = rank; i > 0; i -= i & (~i + 1)) sum += tree_[i];
    return sum;
  }

 private:
  std::vector<double> tree_;
};

struct Example {
  float prediction, label;
  double weight;
  size_t rank = 0;  // of the label, among the different labels
};

bool AnyNaN(std::span<const float> values) {
  return std::any_of(values.begin(), values.end(), [](float v) { return std::isnan(v); });
}

// By prediction, then by label. Returns how many different labels there are.
size_t SortAndRank(std::vector<Example>& examples) {
  std::vector<float> labels;
  for (const Example& e : examples) labels.push_back(e.label);
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  for (Example& e : examples)
    e.rank = static_cast<size_t>(std::lower_bound(labels.begin(), labels.end(), e.label) -
                                 labels.begin());
  std::stable_sort(examples.begin(), examples.end(), [](const Example& a, const Example& b) {
    return a.prediction != b.prediction ? a.prediction < b.prediction : a.rank < b.rank;
  });
  return labels.size();
}

}  // namespace

PairWeights ComputePairWeights(const ScoredExamples& given) {
  CheckSizes(given);
  if (AnyNaN(given.predictions) || AnyNaN(given.labels)) {  // they have no order
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan, nan, nan};
  }
  std::vector<Example> examples;
  examples.reserve(given.size());
  for (size_t i = 0; i < given.size(); ++i)
    examples.push_back(
        {given.predictions[i], given.labels[i], static_cast<double>(given.weight(i))});
  const size_t ranks = SortAndRank(examples);
  PrefixSums lower(ranks);  // of the examples of lower predictions
  PairWeights pairs;
  double before = 0, lower_total = 0;
  for (size_t begin = 0, end = 0; begin < examples.size(); begin = end) {
    double same_label = 0;
    for (; end < examples.size() && examples[end].prediction == examples[begin].prediction; ++end) {
      const Example& e = examples[end];
      if (end > begin && e.rank != examples[end - 1].rank) same_label = 0;
      pairs.concordant += e.weight * lower.Before(e.rank);
      pairs.discordant += e.weight * (lower_total - lower.Before(e.rank + 1));
      pairs.tied += e.weight * same_label;
      pairs.total += e.weight * before;
      same_label += e.weight;
      before += e.weight;
    }
    for (size_t i = begin; i < end; ++i) lower.Add(examples[i].rank, examples[i].weight);
    lower_total = before;
  }
  return pairs;
}

}  // namespace tessera
