#ifndef TESSERA_TRAIN_CONFIG_EVALUATION_JSON_H_
#define TESSERA_TRAIN_CONFIG_EVALUATION_JSON_H_
// The JSON of how a training is watched: of evaluations, {"every": 0.05 or "every_steps": 500,
// "metric": "auc", "target": 0.80275, "patience": 5}, each of which may be left out, and of metrics
// over time (metrics/rec_metrics_config.h), whose tasks and metrics default to the training's.
#include <string>

#include "runtime/json/json_object.h"
#include "train/config/evaluation_config.h"
#include "train/config/train_config.h"

namespace tessera::internal {

// Throws Error, or adds to `problems`, for an unknown key, for both every and every_steps, and for
// numbers out of range. Which metrics there are depends on the tasks (train/evaluation_metric.h).
EvaluationConfig EvaluationFromJson(const Json& value, const std::string& where,
                                    JsonProblems* problems = nullptr);
Json EvaluationToJson(const EvaluationConfig& config);

// The metrics of a configuration without "metrics" (DefaultTrainingMetrics).
RecMetricsConfig DefaultMetrics(const TrainConfig& config);
// Reads "metrics" of a configuration whose other sections are read. Without "rec_metrics" they are
// the default ones, of the tasks that there are; metrics that are given, also none, are taken as
// they are.
RecMetricsConfig MetricsFromJson(const Json& value, const std::string& where,
                                 JsonProblems* problems, const TrainConfig& config);

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_CONFIG_EVALUATION_JSON_H_
