#ifndef TESSERA_CLI_SCORED_ROWS_H_
#define TESSERA_CLI_SCORED_ROWS_H_
// Rows whose clicks are known, for a served model, and what the checkpoint that it came from says of
// the same rows: what quantizing has cost.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/memory_limit.h"
#include "serve/predictor.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/train_config.h"
#include "train/data/data_source.h"
#include "train/metrics/click_metrics.h"

namespace tessera::cli {

struct ScoredRows {
  std::vector<std::string> data = {};  // Criteo files
  std::string range = ":";             // FIRST:LAST
  int64_t batch_size = 64;
  bool skip_bad_lines = false;
};

// Throws Error, naming the model's directory, for a model that does not read Criteo rows.
std::unique_ptr<DataSource> OpenScoredRows(const ScoredRows& rows, const serve::ModelSpec& spec,
                                           const std::string& directory);

// Of all rows of the source, by the model that is there.
MetricValues ScoreRows(serve::Predictor& predictor, DataSource& source);

// Throws Error where ScoreByCheckpoint takes more memory than there is.
void CheckScoringMemory(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config,
                        const MemoryThere& there);
// The same as ScoreRows by a checkpoint's own model, all of which is then in memory. Throws Error as
// ReadTrainConfig and Trainer::Load do.
MetricValues ScoreByCheckpoint(const Checkpoint& checkpoint,
                               const std::optional<TrainConfig>& config, DataSource& source,
                               int threads);

// "1,000 rows: AUC 0.801234 of the checkpoint, 0.801200 of the model: a loss of 0.000034".
std::string AucLossText(const MetricValues& checkpoint, const MetricValues& model);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SCORED_ROWS_H_
