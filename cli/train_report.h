#ifndef TESSERA_CLI_TRAIN_REPORT_H_
#define TESSERA_CLI_TRAIN_REPORT_H_
// What `tessera train` says in the end.
#include <optional>
#include <string>

#include "train/training_run.h"

namespace tessera::cli {

// "epoch 1: train loss 0.4612  AUC 0.7681  log-loss 0.4497  (1.02 s)".
std::string EpochLine(const EpochReport& epoch);

// The last evaluation as a table, beside what is possible, where that is known; then time and
// speed.
std::string FinalTable(const TrainingRunReport& report, const std::optional<MetricValues>& optimum);

// {"auc", "log_loss", "normalized_entropy", "calibration", "seconds", "samples_per_second", "rows",
// "skipped_rows", "epochs": [...]} and "optimum" where it is known. What is not defined is null.
std::string ReportJson(const TrainingRunReport& report, const std::optional<MetricValues>& optimum);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_REPORT_H_
