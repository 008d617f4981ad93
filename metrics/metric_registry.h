#ifndef TESSERA_METRICS_METRIC_REGISTRY_H_
#define TESSERA_METRICS_METRIC_REGISTRY_H_
// All metrics by TorchRec's names, the options that each looks at, and what it needs of a batch
// beside predictions, labels and weights.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "metrics/formulas/formulas.h"

namespace tessera {

enum class MetricNeeds { kNothing, kSessions, kGroupingKeys, kCandidates, kTaskTensor, kTensors };

struct MetricKind {
  std::string name;
  std::vector<std::string> options;  // names of MetricOptions that it looks at
  MetricNeeds needs;
  // Name of the option that sets `grouped`, where there is one; the metric then needs grouping
  // keys.
  std::string grouped_option;
  // Throws Error for options that make no sense. REQUIRES: window_size > 0, of this rank.
  std::function<std::unique_ptr<RecMetric>(const MetricOptions& options, int64_t window_size,
                                           const Clock& clock)>
      make;
};

// In the order of their names.
const std::vector<MetricKind>& AllMetricKinds();

// Throws Error for an unknown name, listing the known ones.
const MetricKind& FindMetricKind(const std::string& name);

}  // namespace tessera
#endif  // TESSERA_METRICS_METRIC_REGISTRY_H_
