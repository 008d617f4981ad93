#ifndef TESSERA_CLI_TRAIN_MLLOG_H_
#define TESSERA_CLI_TRAIN_MLLOG_H_
// MLPerf's log of a training run (mlcommons/logging, rules of DLRM-DCNv2), a line an event:
//
//   :::MLLOG {"namespace": "", "time_ms": 1700000000000, "event_type": "POINT_IN_TIME",
//             "key": "eval_accuracy", "value": 0.80275,
//             "metadata": {"file": "…", "lineno": 1, "epoch_num": 0.75}}
//
// Events before run_start are written with it, so that a start that is refused changes no file;
// each later one is in the file when its call returns. An event says what the run has; keys that do
// not apply to it are left out. Epochs are numbered from 0, and epoch_num of an evaluation counts
// the fraction of its epoch, if that is known. The organization is a placeholder that a submitter
// replaces. Without a target, a run that ends is a success.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <source_location>
#include <string>

#include "train/config/train_config.h"
#include "train/run/training_report.h"

namespace tessera::cli {

class MlLog {
 public:
  // Notes cache_clear, init_start; writes nothing.
  explicit MlLog(const std::string& path);

  // Notes the submission and hyperparameters. platform: of the machine.
  void Settings(const TrainConfig& config, const std::string& platform);
  // Begins the file with what was noted, init_stop and run_start. epoch_rows: of an epoch, if they
  // are known. Throws Error when it cannot be written, as all that follow.
  void RunStart(std::optional<int64_t> epoch_rows);
  void EpochStart(int64_t epoch);
  void EpochStop(int64_t epoch);
  void EvalStart(const EvaluationPoint& at);
  void EvalStop(const EvaluationReport& report);
  // Ends the epoch that is under way, too.
  void RunStop(bool success);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  // The place in the source that an event's metadata name: its caller's.
  using Place = std::source_location;

  // Values and metadata are JSON; more: "\"epoch_num\": 1", or "".
  void Write(const char* type, const std::string& key, const std::string& value,
             const std::string& more, const Place& place);
  void WriteText(const std::string& text);
  void Event(const std::string& key, const std::string& value, const std::string& more = "",
             const Place& place = Place::current());
  void Start(const std::string& key, const std::string& more = "",
             const Place& place = Place::current());
  void Stop(const std::string& key, const std::string& more = "",
            const Place& place = Place::current());
  void Optimizer(const TrainConfig& config);

  std::string path_, before_;  // before_: the lines before the file began
  std::unique_ptr<std::FILE, Close> file_;
  std::optional<int64_t> epoch_;  // under way
  double at_ = 0;                 // epochs done at the last evaluation
  bool said_samples_ = false;     // of evaluations
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_MLLOG_H_
