#ifndef TESSERA_METRICS_FORMULAS_METRIC_OPTIONS_H_
#define TESSERA_METRICS_FORMULAS_METRIC_OPTIONS_H_
// Options of metrics, under TorchRec's names. metric_registry.h says which metric looks at which.
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

struct MetricOptions {
  bool include_logloss = false;  // ne, recalibrated_ne, segmented_ne
  // ne, ne_positive, cali_free_ne: 1e-12 instead of NaN while all weights are 0.
  bool allow_missing_label_with_zero_weight = false;
  bool apply_bin = false;    // auc, not of groups: labels from 0.039 on are 1, others 0
  int64_t num_bins = 65536;  // auprc over the lifetime: bins of predictions; > 0
  // segmented_ne and grouped metrics: the tensor of the model's output that tells groups apart.
  std::string grouping_keys = "grouping_keys";
  bool cast_keys_to_int = false;                // segmented_ne: the keys are f32, cut to integers
  double recalibration_coefficient = 1;         // recalibrated_*; > 0
  bool include_r_squared = false;               // mse
  double threshold = 0.5;                       // accuracy, precision, recall
  bool grouped = false;                         // grouped_auc, grouped_auprc, grouped_rauc
  bool exponential_gain = false;                // ndcg: gain 2^y − 1
  int64_t k = -1;                               // ndcg: ranks that count; -1: all
  bool report_ndcg_as_decreasing_curve = true;  // ndcg: 1 − ndcg
  bool remove_single_length_sessions = false;   // ndcg
  bool scale_by_weights_tensor = false;         // ndcg: weights scale labels and predictions
  int64_t number_of_classes = 0;                // multiclass_recall; > 0
  int64_t num_labels = 1;                       // multi_label_precision; 1 to 24
  std::vector<std::string> label_names = {};  // multi_label_precision; none: label_0, label_1, …
  int64_t num_groups = 1;                     // segmented_ne; > 0
  double target_precision = 0.5;              // hindsight_target_pr
  int64_t top_threshold = 0;                  // *_session_level: ranks above it count; > 0
  bool run_ranking_of_labels = false;         // *_session_level: labels are ranked likewise
  int64_t warmup_steps = 100;                 // tower_qps; > 0
  std::vector<std::string> tensors = {"latest_imp", "total_latest_imp"};  // output

  friend bool operator==(const MetricOptions&, const MetricOptions&) = default;
};

}  // namespace tessera
#endif  // TESSERA_METRICS_FORMULAS_METRIC_OPTIONS_H_
