#ifndef TESSERA_METRICS_STATE_SUM_METRIC_H_
#define TESSERA_METRICS_STATE_SUM_METRIC_H_
// Metrics whose values follow from a few sums over examples, in double.
//
//   lifetime   the sums of all batches
//   window     whole batches: after adding one, while more than window_size examples are kept in
//              more than one batch, or more than 1,000 batches, the oldest batch goes
//
// A window's sums are added up anew for each value, oldest first: what has left it leaves no trace.
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "metrics/state/rec_metric.h"

namespace tessera {

// The sums of a metric that a batch counts for.
enum class BatchUse { kNone, kLifetime, kLifetimeAndWindow };

// Which sums, and which values they make. One metric a file; formulas.h lists them.
class SumFormula {
 public:
  explicit SumFormula(int64_t num_sums) : num_sums_(num_sums) {}
  virtual ~SumFormula() = default;
  int64_t num_sums() const { return num_sums_; }

  // Writes a batch's sums into `sums`, which are 0. Throws Error for input that is not there.
  virtual BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) = 0;
  // Names without prefix, and values.
  virtual std::vector<MetricValue> Values(std::span<const double> sums) const = 0;
  // Values that have neither prefix, from the lifetime's sums.
  virtual std::vector<MetricValue> Totals(std::span<const double>) const { return {}; }
  // Adds another rank's sums.
  virtual void Merge(std::span<double> into, std::span<const double> other) const;

  // Predictions an example.
  virtual int64_t num_classes() const { return 1; }
  // Whether there are values of a window.
  virtual bool windowed() const { return true; }
  // Prefix of the lifetime's values.
  virtual const char* lifetime_prefix() const { return "lifetime_"; }
  // Whether the lifetime's sums are those of the last batch.
  virtual bool latest() const { return false; }

 private:
  int64_t num_sums_;
};

class SumMetric final : public RecMetric {
 public:
  static constexpr size_t kMaxBatches = 1000;

  // REQUIRES: window_size > 0, of this rank.
  SumMetric(std::unique_ptr<SumFormula> formula, int64_t window_size);

  void Update(const MetricBatch& batch) override;
  MetricState Summary() const override;
  std::vector<MetricValue> Values(std::span<const MetricState> summaries) const override;
  using RecMetric::Values;
  MetricState State() const override;
  void Load(std::span<const MetricState> states) override;
  void DealWindow(std::span<const MetricState> states, int rank, int ranks) override;

 private:
  using Sums = std::vector<double>;
  struct Kept {
    int64_t examples;
    Sums sums;
  };

  void Keep(Kept batch);
  Sums WindowSums() const;
  Sums Merged(std::span<const MetricState> summaries, const std::string& name) const;
  Kept KeptIn(const MetricState& state, size_t i) const;

  std::unique_ptr<SumFormula> formula_;
  int64_t window_size_;
  Sums lifetime_;
  std::deque<Kept> window_;  // empty unless windowed
  int64_t window_examples_ = 0;
};

}  // namespace tessera
#endif  // TESSERA_METRICS_STATE_SUM_METRIC_H_
