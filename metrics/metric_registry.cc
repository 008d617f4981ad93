#include "metrics/metric_registry.h"

#include "metrics/formulas/auc.h"
#include "metrics/formulas/auprc.h"
#include "metrics/formulas/example_metric.h"
#include "metrics/formulas/rauc.h"
#include "runtime/base/check.h"
#include "runtime/base/nearest.h"

namespace tessera {
namespace {

using enum MetricNeeds;

const char* const kZeroWeight = "allow_missing_label_with_zero_weight";
const std::vector<std::string> kThreshold = {"threshold"},
                               kLogLoss = {"include_logloss", kZeroWeight},
                               kSessionLevel = {"top_threshold", "run_ranking_of_labels"};

// A metric of sums.
MetricKind OfSums(const char* name, FormulaPtr (*make)(const MetricOptions&),
                  std::vector<std::string> options = {}, MetricNeeds needs = kNothing) {
  return {name, std::move(options), needs, "",
          [make](const MetricOptions& o, int64_t window_size, const Clock&) {
            return std::make_unique<SumMetric>(make(o), window_size);
          }};
}

// A metric of the examples themselves.
MetricKind OfExamples(const std::string& name, double (*value)(const ScoredExamples&),
                      std::vector<std::string> options = {},
                      double (*lifetime)(const BinnedScores&) = nullptr) {
  options.push_back("grouping_keys");
  return {name, std::move(options), kNothing, "grouped_" + name,
          [=](const MetricOptions& o, int64_t window_size, const Clock&) {
            return std::make_unique<ExampleMetric>(
                ExampleFormula{name, value, lifetime, o.num_bins, o.grouped, o.apply_bin},
                window_size);
          }};
}

std::unique_ptr<RecMetric> MakeTowerQpsMetric(const MetricOptions& options, int64_t window_size,
                                              const Clock& clock) {
  return std::make_unique<SumMetric>(MakeTowerQps(options, clock), window_size);
}

}  // namespace

const std::vector<MetricKind>& AllMetricKinds() {
  static const std::vector<MetricKind> kinds = {
      OfSums("accuracy", MakeAccuracy, kThreshold),
      OfExamples("auc", AucOrHalf, {"apply_bin"}),
      OfExamples("auprc", Auprc, {"num_bins"}, BinnedAuprc),
      OfSums("average", MakeAverage),
      OfSums("cali_free_ne", MakeCaliFreeNe, {kZeroWeight}),
      OfSums("calibration", MakeCalibration),
      OfSums("ctr", MakeCtr),
      OfSums("gauc", MakeGauc, {}, kCandidates),
      OfSums("hindsight_target_pr", MakeHindsightTargetPr, {"target_precision"}),
      OfSums("log_loss", MakeLogLoss),
      OfSums("mae", MakeMae),
      OfSums("mse", MakeMse, {"include_r_squared"}),
      OfSums("multi_label_precision", MakeMultiLabelPrecision, {"num_labels", "label_names"}),
      OfSums("multiclass_recall", MakeMulticlassRecall, {"number_of_classes"}),
      OfSums("ndcg", MakeNdcg,
             {"exponential_gain", "k", "report_ndcg_as_decreasing_curve",
              "remove_single_length_sessions", "scale_by_weights_tensor"},
             kSessions),
      OfSums("ne", MakeNe, kLogLoss),
      OfSums("ne_positive", MakeNePositive, {kZeroWeight}),
      OfSums("nmse", MakeNmse),
      OfSums("num_missing_labels", MakeNumMissingLabels),
      OfSums("num_positive_samples", MakeNumPositiveSamples),
      OfSums("output", MakeOutput, {"tensors"}, kTensors),
      OfSums("precision", MakePrecision, kThreshold),
      OfSums("precision_session_level", MakePrecisionSession, kSessionLevel, kSessions),
      OfExamples("rauc", Rauc),
      OfSums("recalibrated_calibration", MakeRecalibratedCalibration,
             {"recalibration_coefficient"}),
      OfSums("recalibrated_ne", MakeRecalibratedNe,
             {"include_logloss", "recalibration_coefficient"}),
      OfSums("recall", MakeRecall, kThreshold),
      OfSums("recall_session_level", MakeRecallSession, kSessionLevel, kSessions),
      OfSums("scalar", MakeScalar),
      OfSums("segmented_ne", MakeSegmentedNe,
             {"include_logloss", "num_groups", "grouping_keys", "cast_keys_to_int"}, kGroupingKeys),
      OfSums("serving_calibration", MakeServingCalibration),
      OfSums("serving_ne", MakeServingNe),
      OfSums("sum_weights", MakeSumWeights),
      OfSums("tensor_weighted_avg", MakeTensorWeightedAvg, {}, kTaskTensor),
      {"tower_qps", {"warmup_steps"}, kNothing, "", MakeTowerQpsMetric},
      OfSums("unweighted_ne", MakeUnweightedNe),
      OfSums("weighted_avg", MakeWeightedAvg),
      OfSums("weighted_sum_predictions", MakeWeightedSumPredictions),
      OfSums("xauc", MakeXauc),
  };
  return kinds;
}

const MetricKind& FindMetricKind(const std::string& name) {
  std::vector<std::string> names;
  for (const MetricKind& kind : AllMetricKinds()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  throw Error(NoneIsCalled("metric", name, names));
}

}  // namespace tessera
