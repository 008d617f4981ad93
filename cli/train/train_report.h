#ifndef TESSERA_CLI_TRAIN_TRAIN_REPORT_H_
#define TESSERA_CLI_TRAIN_TRAIN_REPORT_H_
// The report that `tessera train` prints in the end.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "train/config/evaluation_config.h"
#include "train/data_sets.h"
#include "train/run/training_report.h"
#include "train/verify/run_verifier.h"

namespace tessera::cli {

// "target", "patience" or "".
std::string StopName(EarlyStop stop);

// "epoch 1: train loss 0.4612  AUC 0.7681  log-loss 0.4497  (1.02 s)"; "… 0.4612 of the 1,234 rows
// since the resume", where the run began inside the epoch; where evaluations are compared
// "…  (1.02 s)  best so far"; with managed collision "…  (1.02 s)  81,230 of 650,000 rows in use".
std::string EpochLine(const EpochReport& epoch);

// An evaluation inside an epoch: "epoch 1, 0.05 of it, step 3200: AUC 0.7881  log-loss 0.1321
// (12.30 s)  best so far".
std::string EvaluationLine(const EvaluationReport& report);

// Whether the metric's target was met, or patience ended, by whose numbers: "stopped early: auc
// 0.8031 has reached the target 0.80275". "" for a run that did not stop early.
std::string EarlyStopLine(const EvaluationsReport& evaluations, const EvaluationConfig& config);

// The last evaluation as a table, beside what is possible, where that is known; then time, speed,
// memory, what tables on disk did, and what managed collision did with raw ids, over all tables.
std::string FinalTable(const TrainingRunReport& report, const std::optional<MetricValues>& optimum);

// {"auc", "log_loss", "normalized_entropy", "calibration", "seconds", "samples_per_second", "rows",
// "skipped_rows", "skipped_eval_rows" (of the last evaluation), "epochs": [...]}; with several
// tasks, or one by mse, of the run and of each epoch
// "loss" and "tasks": {name: {"examples", "loss", and "auc", … or "mse", "rmse", "mae"}, …}, the
// values outside being the first task's; "optimum" where it is known, and with managed collision,
// of the run and of each epoch, "raw_ids": [{"table", "kind", "rows", "ids", "admitted",
// "evicted"}, …]; with tables on disk "disk": {"tables", "file_bytes", "cache_bytes", "rows",
// "hits", "hit_rate", "bytes_read", "bytes_written", "reads_in_flight", "io", "direct"};
// "memory": {"peak_bytes", "bytes"} of the host, of ranks that are processes the largest; with
// ranks "ranks", their times and memory (cli/train/ranks_report.h), and with several sharding
// groups "sharding_groups". With
// "evaluation" in the configuration "evaluations": [{"epoch", "step", "epoch_fraction", the values,
// "best", "seconds"}, …], "best": {"metric", "value", "epoch", "step", "epoch_fraction"} or null,
// and "stopped_early": "target", "patience" or null. Where items of the rows that were read have no
// id of their own, "unknown_items" and "unknown_eval_items": {feature: {"items", "unknown"}, …},
// as often as they were read. With data.split "split" (cli/show/split_text.h). With --verify
// "verify": {"record", "equal", "added", "difference": null}, the numbers of digests. What is not
// defined is null.
nlohmann::ordered_json ReportJson(const TrainingRunReport& report,
                                  const std::optional<MetricValues>& optimum, const DataSets& data,
                                  const std::optional<VerifyReport>& verified);
// An entry of "epochs".
nlohmann::ordered_json EpochJson(const EpochReport& epoch);

// {"verify": …} of a training that ended by a difference, whose text "difference" is.
std::string DifferenceJson(const VerifyReport& report);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_TRAIN_REPORT_H_
