#ifndef TESSERA_METRICS_REC_METRIC_MODULE_H_
#define TESSERA_METRICS_REC_METRIC_MODULE_H_
// The metrics of a model by configuration: every metric for each of its tasks, and the throughput.
// Values are called as TorchRec calls them, "<metric>-<task>|<prefix>_<name>", for example
// "ne-click|window_ne".
//
// On several ranks each has a module of the same configuration, and feeds it its own batches. A
// value of all ranks is that of one process fed their batches in rank order. (A window may differ:
// that of R ranks is their R windows of window_size/R together, which may hold other batches.)
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "metrics/formulas/formulas.h"
#include "metrics/rec_metrics_config.h"
#include "runtime/named_parameter.h"
#include "runtime/tensor.h"

namespace tessera {

// A batch by the names that tasks use; tensors of the host, contiguous. Predictions, labels,
// weights and tensors to be averaged are f32 [n], multiclass predictions [n, classes]; sessions and
// grouping keys are i64 [n], "num_candidates" is i64 [sessions].
using ModelOutput = std::map<std::string, Tensor>;

// Stands for the session or the grouping key of an example that has none: metrics that need one
// leave the example out.
inline constexpr int64_t kNoKey = std::numeric_limits<int64_t>::min();

using MetricReport = std::map<std::string, double>;

struct RecMetricModuleOptions {
  int64_t batch_size = 1;  // of all ranks together: no window may be smaller
  int ranks = 1;
  Clock clock = {};  // of throughput; default: a steady one
  // The tensor whose examples the throughput counts; "": the labels of the first task.
  std::string throughput_input = {};
};

class RecMetricModule {
 public:
  // Throws Error for a configuration that makes no sense.
  explicit RecMetricModule(const RecMetricsConfig& config,
                           const RecMetricModuleOptions& options = {});
  ~RecMetricModule();

  // Adds a batch, which may be empty. Throws Error for a tensor that is missing, of another type
  // or size; what some metrics have added then stays.
  void Update(const ModelOutput& output);
  // Whether it is time to compute, asked after an update: once in compute_interval_steps() updates.
  // With min_compute_interval the second computation sets that number.
  bool ShouldCompute() const { return updates_ % interval_steps_ == 0; }
  int64_t compute_interval_steps() const { return interval_steps_; }
  int64_t updates() const { return updates_; }

  // Computes the metrics of this rank alone.
  MetricReport Compute();
  // Computes the metrics of all ranks, the same on each. Every rank calls. Waits.
  MetricReport Compute(Communicator& comm);

  // Returns all state as tensors of the host named "metrics.<rank>.<metric>.<task>.<part>": that of
  // this rank (as rank 0), or of all ranks, the same on each, for which every rank calls.
  std::vector<NamedTensor> State() const;
  std::vector<NamedTensor> State(Communicator& comm) const;
  // Loads the state of any number of ranks. Metrics that the state lacks start afresh; state of
  // metrics that this module does not have is left out. Throws Error for state that does not
  // fit.
  void Load(const std::vector<NamedTensor>& state, int rank = 0);

  // Names of the tensors that Update asks for.
  std::vector<std::string> RequiredInputs() const;
  const RecMetricsConfig& config() const { return config_; }

 private:
  struct Entry;

  void Add(const RecMetricDef& def, const RecTask& task);
  const RecTask& TaskOf(const std::string& name, const std::string& metric) const;
  void UpdateEntry(Entry& entry, const ModelOutput& output);
  // Steps until the next computation, if the last ones took so many seconds.
  int64_t StepsAfter(double seconds) const;
  void AdjustInterval(Communicator* comm);
  MetricReport Report(const std::vector<std::vector<MetricState>>& ranks) const;
  std::vector<MetricState> Summaries() const;
  std::vector<MetricState> States() const;
  std::vector<NamedTensor> Named(const std::vector<MetricState>& states, int rank) const;

  RecMetricsConfig config_;
  RecMetricModuleOptions options_;
  std::vector<Entry> entries_;
  int64_t updates_ = 0;
  int64_t interval_steps_ = 1;
  bool adjusts_interval_ = false;  // at the next computation but the first
  std::optional<double> last_compute_;
};

}  // namespace tessera
#endif  // TESSERA_METRICS_REC_METRIC_MODULE_H_
