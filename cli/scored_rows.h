#ifndef TESSERA_CLI_SCORED_ROWS_H_
#define TESSERA_CLI_SCORED_ROWS_H_
// Rows whose clicks are known, and what a saved model of any form says of them: a model directory,
// a checkpoint, or both, of which the difference is what quantizing has cost.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/data_source.h"
#include "metrics/click_metrics.h"
#include "runtime/base/memory_limit.h"
#include "runtime/context.h"
#include "serve/predictor.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/train_config.h"
#include "train/data_sets.h"
#include "train/trainer.h"

namespace tessera::cli {

struct ScoredRows {
  std::vector<std::string> data = {};  // files, or patterns of them
  std::string range = ":";             // FIRST:LAST
  int64_t batch_size = 64;
  bool skip_bad_lines = false;
  int threads = 1;  // that parse text of a schema
};

// Opens files in any layout that the model's training takes. Throws Error, naming the model's
// `path`, for a model whose rows come from no file.
std::unique_ptr<DataSource> OpenScoredRows(const ScoredRows& rows, const RowInputs& inputs,
                                           const std::string& path);

// The weights of a batch's examples; none: all weigh 1.
std::span<const float> WeightsOf(const Batch& batch);

// Throws Error where no row was scored.
void CheckAnyScored(const ScoredRows& rows, int64_t examples);

// Throws Error where scoring rows with a checkpoint takes more memory than there is.
void CheckScoringMemory(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config,
                        const MemoryThere& there);

struct RowScorerOptions {
  int threads = 1;
  int64_t batch_size = 64;             // the most rows of a call
  const MemoryThere* there = nullptr;  // where memory is held against it
};

// A model that scores rows: of a directory, as it is served, or of a checkpoint, all of which is
// then in memory. On `threads` threads.
class RowScorer {
 public:
  // Opens a model of any form. `config` is needed for a checkpoint that has none inside. Throws
  // Error as serve::Predictor, ReadCheckpoint and Trainer::Load do, and for a model that takes more
  // memory than there is.
  RowScorer(const std::string& path, const std::optional<TrainConfig>& config,
            const RowScorerOptions& options);
  // Throws Error as serve::ReadConfig and Trainer::Load do.
  RowScorer(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config, int threads);

  const RowInputs& inputs() const { return inputs_; }
  // Click probabilities of a batch of `inputs`.
  std::vector<float> Score(const Batch& batch);
  // Returns the metrics of all rows of the source.
  MetricValues ScoreAll(DataSource& source);

 private:
  void Load(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config, int threads);

  RowInputs inputs_;
  std::unique_ptr<serve::Predictor> predictor_;  // of a directory; else
  std::unique_ptr<Context> ctx_;
  std::unique_ptr<Trainer> trainer_;
};

// "1,000 rows: AUC 0.801234 of the checkpoint, 0.801200 of the model: a loss of 0.000034".
std::string AucLossText(const MetricValues& checkpoint, const MetricValues& model);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SCORED_ROWS_H_
