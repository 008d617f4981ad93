#ifndef TESSERA_CLI_TRAIN_RUN_RECORDER_H_
#define TESSERA_CLI_TRAIN_RUN_RECORDER_H_
// The record that a start of `tessera train --run` leaves in its folder (cli/runs/run_folder.h).
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/train/flags/train_command_flags.h"
#include "cli/train/run_epochs.h"
#include "cli/train/run_log.h"
#include "cli/train/run_start.h"
#include "runtime/json/json_object.h"
#include "train/data_sets.h"
#include "train/run/training_run.h"

namespace tessera::cli {

// The rows that were trained after the last line of curve.jsonl, as of a step.
struct LossSum {
  int64_t step = 0, rows = 0;
  double loss_sum = 0;
};

class RunRecorder {
 public:
  // Adds to the log from now on. REQUIRES: the outputs are claimed.
  explicit RunRecorder(const TrainFlags& flags);

  // Writes config.json and the start. Where the run goes on, removes what curve.jsonl and
  // metrics.jsonl have of later steps, else what an earlier run left. `data` outlives this.
  void Begin(const TrainConfig& config, const DataSets& data, const RunStart& start);
  // Has evaluations, and epochs without one, written to curve.jsonl. run.json notes those of steps
  // that a start before this one has evaluated, to other numbers.
  void Record(TrainingRunOptions& options);
  void End(const TrainingRunReport& report, const TrainingProgress& at);
  // Makes the report of the training that of the whole run: rows, epochs, evaluations and
  // counts of data.split.
  void AddWholeRun(internal::Json& report) const { epochs_.AddTo(report, folder_); }
  // Notes that the start ended by an error, which is in the log then; where no start has begun, it
  // is in run.json, too.
  void Fail(const std::string& error);

 private:
  void AddLine(const EvaluationPoint& at, const std::string& metric, double value,
               internal::Json line);
  double TakeTrainLoss();
  void KeepLossSum(int64_t step);
  void GoOnWithLossSum(int64_t step);
  void AddTrainLoss(int64_t epoch);
  void WriteLoss() const;
  void TakeSplit();
  void NoteRepeat(const internal::Json& line);
  void EndStart(const std::string& how);

  std::string folder_;
  bool goes_on_, has_same_data_;
  const DataSets* data_ = nullptr;
  internal::Json document_;  // run.json
  RunLog log_;
  bool begun_ = false;
  std::map<int64_t, internal::Json> earlier_;  // lines of curve.jsonl by starts before, by step
  LossSum since_line_;                         // as of now
  std::vector<LossSum> saved_;                 // as of the last two saves: loss.json
  RunEpochs epochs_;
  int64_t step_ = 0;
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_RUN_RECORDER_H_
