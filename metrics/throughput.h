#ifndef TESSERA_METRICS_THROUGHPUT_H_
#define TESSERA_METRICS_THROUGHPUT_H_
// Examples a second, of the whole model: `lifetime_throughput`, of all steps after the first
// warmup_steps; `window_throughput`, of the last steps that fit in window_seconds;
// `total_examples`; with batch_size_stages `batch_size`, that of the stage now (examples are those
// that came).
//
// Ranks: examples are added, the time is that of the slowest. Before the warm-up is over there is
// total_examples alone. A run that goes on from a checkpoint warms up again.
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "metrics/formulas/formulas.h"

namespace tessera {

struct BatchSizeStage {
  int64_t batch_size = 1;
  std::optional<int64_t> max_iters = {};  // up to this step, counted from 1; the last stage: none
  friend bool operator==(const BatchSizeStage&, const BatchSizeStage&) = default;
};
// Throws Error unless the last stage alone has no end, and ends rise.
void CheckBatchSizeStages(const std::vector<BatchSizeStage>& stages);

struct ThroughputOptions {
  double window_seconds = 100;
  int64_t warmup_steps = 100;
  std::vector<BatchSizeStage> batch_size_stages = {};
  friend bool operator==(const ThroughputOptions&, const ThroughputOptions&) = default;
};

class Throughput final : public RecMetric {
 public:
  // REQUIRES: options above 0.
  Throughput(const ThroughputOptions& options, Clock clock);

  // Counts the examples; nothing else of the batch is looked at.
  void Update(const MetricBatch& batch) override;
  MetricState Summary() const override;
  std::vector<MetricValue> Values(std::span<const MetricState> summaries) const override;
  using RecMetric::Values;
  MetricState State() const override;
  void Load(std::span<const MetricState> states) override;

 private:
  struct Counted {
    double examples = 0, seconds = 0;
    void operator+=(const Counted& other);
  };

  ThroughputOptions options_;
  Clock clock_;
  int64_t BatchSizeNow(int64_t batches) const;

  int64_t steps_ = 0;
  int64_t batches_ = 0;        // those before a checkpoint too
  double previous_ = 0;        // when the last step ended
  double total_examples_ = 0;  // those of warm-ups too
  Counted lifetime_, in_window_;
  std::deque<Counted> window_;  // a step each
};

}  // namespace tessera
#endif  // TESSERA_METRICS_THROUGHPUT_H_
