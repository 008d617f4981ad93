#ifndef TESSERA_CLI_TRAIN_FLAGS_EVALUATION_FLAGS_H_
#define TESSERA_CLI_TRAIN_FLAGS_EVALUATION_FLAGS_H_
// The flags of `tessera train` that say when it evaluates, what it keeps of that, and when it stops
// early. They take precedence over the configuration's "evaluation".
#include <optional>
#include <string>

#include "cli/command_line.h"
#include "train/config/train_config.h"
#include "train/run/evaluated_rows.h"
#include "train/run/resume_changes.h"

namespace tessera::cli {

struct EvaluationFlags {
  std::string eval_every, eval_metric, stop_at, best, mllog;
  std::optional<int64_t> patience;
};

void AddEvaluationFlags(Command app, EvaluationFlags& flags);

// Sets the configuration's "evaluation" by the flags that were given. Throws Error for a value that
// makes no sense, and for two metrics.
void ApplyEvaluationFlags(const EvaluationFlags& flags, TrainConfig& config);

// Throws Error for --eval-metric where no rows are evaluated.
void CheckEvalMetric(const EvaluationFlags& flags, const DataSets& data);

// Whether a checkpoint that a training saved is there, from which --resume goes on.
bool IsOfTraining(const std::string& path);

// Whether the checkpoint `best` is of the training that goes on from `resumed`: both have the same
// data, seed and configuration, but for the length and the evaluations of the run.
bool IsBestOf(const std::string& best, const ResumedRun& resumed);

// The rows for evaluation; absent where there are none.
std::optional<EvaluatedRows> EvaluatedIn(const DataSets& data);

// Below, `evaluation` is TrainingProgress::evaluation of what the run goes on from, and `rows` are
// those that it is evaluated on; absent: the same as before.

// The sentence about a best model so far that is not in `best`, a path where nothing is yet; "" if
// there is none.
std::string MissingBest(const std::string& best, const TrainConfig& config,
                        const std::string& evaluation, const std::optional<EvaluatedRows>& rows);

// The sentence about an evaluation that was due where the checkpoint was saved; "" if none was.
std::string DueText(const TrainConfig& config, const std::string& evaluation,
                    const std::optional<EvaluatedRows>& rows);

// Why a training has stopped early by the configuration, and what goes on with it: "stopped early
// by its patience of 2: …"; "" where it has not.
std::string StoppedEarlyText(const TrainConfig& config, const std::string& evaluation,
                             const std::optional<EvaluatedRows>& rows = {});

// Why a training that goes on from here has nothing left to train; "" where it has.
std::string NothingLeftText(const TrainConfig& config, const TrainingProgress& from,
                            const std::optional<EvaluatedRows>& rows);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_FLAGS_EVALUATION_FLAGS_H_
