#ifndef TESSERA_CLI_TRAIN_TRAIN_OUTPUT_H_
#define TESSERA_CLI_TRAIN_TRAIN_OUTPUT_H_
// The output of `tessera train`: progress, lines of epochs and evaluations, the final report,
// MLPerf's log.
#include "cli/train/loss_curve.h"
#include "cli/train/mllog.h"
#include "cli/train/train_command_flags.h"
#include "train/run/training_run.h"

namespace tessera::cli {

// The training loop with all its output. log: null without --mllog.
TrainingRunReport RunWithOutput(TrainingRunOptions options, Trainer& trainer, const DataSets& data,
                                LossCurve& curve, MlLog* log);

void SayInterrupted(const TrainFlags& flags, int signal);

// Prints the curve, the table and what was saved; writes --json.
void SayResults(const TrainFlags& flags, const TrainConfig& config, const DataSets& data,
                const TrainingRunReport& report, const LossCurve& curve);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_TRAIN_OUTPUT_H_
