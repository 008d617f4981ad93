#ifndef TESSERA_CLI_SCORED_ROWS_H_
#define TESSERA_CLI_SCORED_ROWS_H_
// Rows of files, and what a saved model of any form answers to them: a model directory, a
// checkpoint, or both, of which the difference is what quantizing has cost.
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "data/data_source.h"
#include "data/split/row_split.h"
#include "runtime/base/memory_limit.h"
#include "runtime/context.h"
#include "runtime/tensor.h"
#include "serve/predictor.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/train_config.h"
#include "train/data_sets.h"
#include "train/task_meter.h"
#include "train/task_rows.h"
#include "train/trainer.h"

namespace tessera::cli {

struct ScoredRows {
  std::vector<std::string> data = {};  // files, or patterns of them
  std::string range = ":";             // FIRST:LAST
  int64_t batch_size = 64;
  bool skip_bad_lines = false;
  bool no_labels = false;        // the rows lack them, or nobody wants to know
  RowPart part = RowPart::kAll;  // of the split of the model's training, or no split
  int threads = 1;               // that parse text of a schema, and those of the model
  std::shared_ptr<UnknownItems> unknown_items = nullptr;  // counts those of such text
};

// Adds --part, a word of RowPart; `what` begins its help: "Score only".
Flag AddPartFlag(Command command, const std::string& what, std::string& part);

// The warnings of cli/show/row_file_warnings.h.
void WarnOfScoredRows(const ScoredRows& rows, const RowInputs& inputs, const std::string& path);
// Opens files in any layout that the model's training takes. Throws Error, naming the model's
// `path`, for a model whose rows come from no file, and with no_labels where rows always have a
// label.
std::unique_ptr<DataSource> OpenScoredRows(const ScoredRows& rows, const RowInputs& inputs,
                                           const std::string& path);

// The configuration in a file, with the settings; nullopt without a file. Throws Error for one
// beside a model directory.
std::optional<TrainConfig> ConfigForModel(const std::string& model, const std::string& config,
                                          const std::vector<std::string>& settings);

// Throws Error for standard input and pipes among files that are read more than once, as `why`
// says: "recall reads its rows more than once".
void CheckReadAgain(const std::vector<std::string>& files, const std::string& why);

// Which rows they are, for an error's first words: the first file, or "made-up rows".
std::string NameOf(const ScoredRows& rows);

// Throws Error unless some row was scored; `read` rows came, those that do not count among them.
void CheckAnyScored(const ScoredRows& rows, bool any, int64_t read = 0);

// Throws Error where scoring rows with a checkpoint takes more memory than there is.
void CheckScoringMemory(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config,
                        const MemoryThere& there);

struct RowScorerOptions {
  int threads = 1;
  int64_t batch_size = 64;             // the most rows of a call
  Device device = Device::Cpu();       // of a checkpoint; a model directory is read on the CPU
  const MemoryThere* there = nullptr;  // where memory is held against it
};

// A model that scores rows: of a directory, as it is served, or of a checkpoint, all of which is
// then in memory, or in that of a GPU. On `threads` threads.
class RowScorer {
 public:
  // Opens a model of any form. `config` is needed for a checkpoint that has none inside. Throws
  // Error as serve::Predictor, ReadCheckpoint, Context and Trainer::Load do, for a model that takes
  // more memory than there is, and for a model directory on a GPU.
  RowScorer(const std::string& path, const std::optional<TrainConfig>& config,
            const RowScorerOptions& options);
  // Throws Error as serve::ReadConfig and Trainer::Load do.
  RowScorer(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config, int threads);

  using OnScored = std::function<void(std::span<const TaskExamples>)>;

  bool is_checkpoint() const { return trainer_ != nullptr; }
  const RowInputs& inputs() const { return inputs_; }
  // The identity of the data that a checkpoint was trained on (data/files/data_identity.h), as
  // text; "" where it is not known.
  std::string training_data() const;
  // One for each answer, in their order.
  const std::vector<TrainTask>& tasks() const { return tasks_; }
  // Throws Error, saying what asked, where no task has a metric of single rows.
  void CheckHasMetrics(const std::string& what) const;
  // Answers to a batch of `inputs`, [B], or of several tasks [B, tasks].
  Tensor Score(const Batch& batch);
  // Adds a batch to a meter of tasks(), but for tasks by in_batch_softmax, whose answers are not
  // chosen among the candidates of a batch.
  // Returns the examples, a run for each task.
  std::vector<TaskExamples> Measure(const Batch& batch, const Tensor& scores,
                                    EvaluationMeter& meter) const;
  // Returns the metrics of all rows of the source, as Measure adds them up. `on_scored` gets the
  // examples of each batch, a run for each task.
  EvaluationValues ScoreAll(DataSource& source, const OnScored& on_scored = nullptr);
  // Evaluates a checkpoint as its training does it (Trainer::Evaluate), tasks by in_batch_softmax
  // too, with its bits where the source's batches are of kEvaluationBatch rows. A model directory
  // gets the metrics of ScoreAll.
  EvaluationValues Evaluate(DataSource& source, const OnScored& on_scored);

 private:
  void Load(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config);

  RowInputs inputs_;
  std::vector<TrainTask> tasks_;
  int64_t num_labels_ = 0;
  std::unique_ptr<Context> ctx_;
  std::unique_ptr<serve::Predictor> predictor_;  // of a directory; else
  std::unique_ptr<Trainer> trainer_;
};

// Says which rows a part has, and where they may be others than those of the training, whose data
// have the identity `trained_on`, a text; "" where it is not known. Throws Error for a part of rows
// that no split parts. `path`: of the model.
void SayPart(const ScoredRows& rows, const RowInputs& of_model, const std::string& trained_on,
             const std::string& path);
// Where all rows were taken although the training splits them: says so.
void SayAllRows(const ScoredRows& rows, bool is_split);

// "1,000 rows: AUC 0.801234 of the checkpoint, 0.801200 of the model: a loss of 0.000034"; a line a
// task, which it names where there is more than one; of a task by mse its RMSE.
std::string QualityLossText(const EvaluationValues& checkpoint, const EvaluationValues& model);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SCORED_ROWS_H_
