#ifndef TESSERA_CLI_SHOW_EVALUATION_REPORT_H_
#define TESSERA_CLI_SHOW_EVALUATION_REPORT_H_
// The values of an evaluation as text and as JSON: those of clicks, or of each task.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "train/task_meter.h"

namespace tessera::cli {

// Whether there is more to tell than one task of clicks.
bool HasTasks(const EvaluationValues& values);

// "AUC 0.7681  log-loss 0.4497", "RMSE 0.8812", "softmax loss 4.1024  in-batch recall@20 0.3120".
std::string ShortText(const NamedTaskValues& task);

// A row a metric; with several tasks, or one that is not of clicks, a column a task. `rows_are`
// stands after "on 1,000" in the heading: "rows for evaluation". The optimum, where it is known,
// has a column beside the model's.
std::string EvaluationTable(const EvaluationValues& values, const std::string& rows_are,
                            const std::optional<MetricValues>& optimum = {});

// Adds "auc", "log_loss", "normalized_entropy" and "calibration". NaN is written as null.
void AddMetrics(nlohmann::ordered_json& json, const std::optional<MetricValues>& given);
// Adds the first task's metrics, and where HasTasks, "loss" and "tasks": {name: {"examples",
// "loss", and its metrics}, …}.
void AddEvaluation(nlohmann::ordered_json& json, const std::optional<EvaluationValues>& given);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_EVALUATION_REPORT_H_
