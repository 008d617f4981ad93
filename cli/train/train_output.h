#ifndef TESSERA_CLI_TRAIN_TRAIN_OUTPUT_H_
#define TESSERA_CLI_TRAIN_TRAIN_OUTPUT_H_
// The output of `tessera train`: progress, lines of epochs and evaluations, the final report,
// MLPerf's log, the folder of --run.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/train/flags/train_command_flags.h"
#include "cli/train/loss_curve.h"
#include "cli/train/mllog.h"
#include "cli/train/run_recorder.h"
#include "runtime/context.h"
#include "train/run/training_run.h"
#include "train/verify/run_verifier.h"

namespace tessera::cli {

// The logs that keep the events of a run; null where nobody asked for them.
struct RunLogs {
  std::unique_ptr<MlLog> mllog = nullptr;      // --mllog
  std::unique_ptr<RunRecorder> run = nullptr;  // --run
};

// "26 tables of 1,000 rows in all (62.5 KiB)".
std::string TablesText(const std::vector<EmbeddingBagConfig>& tables);

// The training loop with all its output.
TrainingRunReport RunWithOutput(TrainingRunOptions options, Trainer& trainer, const DataSets& data,
                                LossCurve& curve, const RunLogs& logs);

void SayInterrupted(const TrainFlags& flags, int signal);

// Warns where this CPU makes dense products far slower than a library would.
void SayIfProductsAreSlow(const Context& ctx);

// Warns of settings that change nothing (idle_settings.h).
void WarnOfSettings(const TrainConfig& config);
// Warns of files that were given twice, and of keys that no row has (cli/show/row_file_warnings.h),
// and says which file is read in place of planted rows.
void WarnOfRows(const TrainFlags& flags, const TrainConfig& config);
// Warns that saves inside epochs change what --pipeline semi_sync trains, where both are given.
void WarnOfSaves(const TrainFlags& flags);

// Says that each step is evaluated where the configuration's fraction of an epoch is less than one,
// and warns of a number of steps that is never reached inside an epoch.
void SayInterval(const TrainConfig& config, const DataSets& data);

// Says how rows are split, with what is known of the parts, if they are; then as SayInterval.
void SayRows(const TrainConfig& config, const DataSets& data);

// Prints the curve, the table and what was saved; writes --json, with what --verify found. `run`
// knows what earlier starts of a run have trained; null: there is none.
void SayResults(const TrainFlags& flags, const TrainConfig& config, const DataSets& data,
                const TrainingRunReport& report, const LossCurve& curve,
                const std::optional<VerifyReport>& verified, const RunRecorder* run);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_TRAIN_OUTPUT_H_
