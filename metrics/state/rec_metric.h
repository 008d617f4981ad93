#ifndef TESSERA_METRICS_STATE_REC_METRIC_H_
#define TESSERA_METRICS_STATE_REC_METRIC_H_
// One metric of one task, over a stream of batches: over all of it (lifetime), and over the end of
// it (window).
//
// Ranks each keep what they were fed. What a value needs of that is a rank's Summary; a value is
// made of the summaries of all ranks, in their order, or of the one there is.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "metrics/state/metric_state.h"
#include "metrics/state/scored_examples.h"

namespace tessera {

// A task's examples of a batch, and what some metrics need beside. What is not given is empty.
struct MetricBatch {
  ScoredExamples examples;                               // multiclass: predictions [n, classes]
  std::span<const int64_t> sessions = {};                // [n]; equal numbers: one session
  std::span<const int64_t> grouping_keys = {};           // [n]
  std::span<const int64_t> num_candidates = {};          // lengths of consecutive sessions, Σ = n
  std::span<const std::span<const float>> tensors = {};  // [n] each: what is to be averaged
  bool negative_task = false;                            // RecTask::is_negative_task

  size_t size() const { return examples.size(); }
};

// A value by its name without metric and task: "lifetime_ne".
struct MetricValue {
  std::string name;
  double value;
};

class RecMetric {
 public:
  virtual ~RecMetric() = default;

  // Adds a batch. REQUIRES: it has what the metric needs, in sizes that agree.
  virtual void Update(const MetricBatch& batch) = 0;

  // The state that the values need, and no more.
  virtual MetricState Summary() const = 0;
  // The values of all that ranks were fed. REQUIRES: summaries of metrics made alike.
  virtual std::vector<MetricValue> Values(std::span<const MetricState> summaries) const = 0;
  // Values of this rank alone.
  std::vector<MetricValue> Values() const {
    const MetricState mine = Summary();
    return Values({&mine, 1});
  }

  // All that it remembers.
  virtual MetricState State() const = 0;
  // Takes over what metrics made alike remembered, of ranks that updated together; none: it starts
  // afresh. Throws Error for states of another shape.
  virtual void Load(std::span<const MetricState> states) = 0;
  // Takes over, in place of the window that it has, this rank's share of the windows of all
  // `states`, which ranks of another number remembered.
  virtual void DealWindow(std::span<const MetricState> states, int rank, int ranks) {
    static_cast<void>(states), static_cast<void>(rank), static_cast<void>(ranks);
  }
};

}  // namespace tessera
#endif  // TESSERA_METRICS_STATE_REC_METRIC_H_
