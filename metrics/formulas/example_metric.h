#ifndef TESSERA_METRICS_FORMULAS_EXAMPLE_METRIC_H_
#define TESSERA_METRICS_FORMULAS_EXAMPLE_METRIC_H_
// Metrics that have to see the examples themselves: AUC, AUPRC, RAUC.
//
//   window_<name>           of exactly the last window_size examples of each rank
//   window_grouped_<name>   if grouped: the mean over the groups among them (grouping_keys)
//   lifetime_<name>         of all examples by bins of their predictions (binned_scores.h), if the
//                           formula knows how
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metrics/formulas/binned_scores.h"
#include "metrics/state/kept_examples.h"
#include "metrics/state/rec_metric.h"

namespace tessera {

struct ExampleFormula {
  std::string name;
  double (*value)(const ScoredExamples& examples);
  double (*lifetime)(const BinnedScores& scores) = nullptr;
  int64_t num_bins = BinnedScores::kBins;  // of the lifetime
  bool grouped = false;
  bool bin_labels = false;  // MetricOptions::apply_bin
};

class ExampleMetric final : public RecMetric {
 public:
  // REQUIRES: window_size > 0, of this rank.
  ExampleMetric(ExampleFormula formula, int64_t window_size);

  void Update(const MetricBatch& batch) override;
  MetricState Summary() const override;
  std::vector<MetricValue> Values(std::span<const MetricState> summaries) const override;
  using RecMetric::Values;
  MetricState State() const override { return Summary(); }
  void Load(std::span<const MetricState> states) override;
  void DealWindow(std::span<const MetricState> states, int rank, int ranks) override;

 private:
  double ValueOf(const ScoredExamples& examples) const;
  double MeanOverGroups(const ScoredExamples& examples, std::span<const int64_t> groups) const;

  ExampleFormula formula_;
  size_t window_size_;
  KeptExamples examples_;
  std::optional<BinnedScores> lifetime_;
};

}  // namespace tessera
#endif  // TESSERA_METRICS_FORMULAS_EXAMPLE_METRIC_H_
