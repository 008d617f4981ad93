#ifndef TESSERA_TRAIN_PIPELINE_TRAINER_PIPELINE_H_
#define TESSERA_TRAIN_PIPELINE_TRAINER_PIPELINE_H_
// The steps of a Trainer, by any pipeline or none. On ranks, the thread that copies also cuts this
// rank's part out of each batch.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/data_source.h"
#include "train/pipeline/pipeline_kind.h"
#include "train/pipeline/pipelined_embeddings.h"
#include "train/trainer.h"

namespace tessera {

struct TrainedBatch {
  int64_t rows = 0;  // of all ranks
  double loss = 0;
  std::optional<double> fraction = {};  // that of the batch
  std::vector<ScoredBatch> scored;      // one a task, if asked for
  // Bad lines that the source has left out, as of this batch.
  int64_t skipped_rows = 0;
  BadLineCounts skipped_by_reason = {};
};

// Steps over one source.
class TrainerSteps {
 public:
  virtual ~TrainerSteps() = default;
  // The next step; nullopt at the end. Throws what the source or the step throws, after the steps
  // of the batches before it.
  virtual std::optional<TrainedBatch> Next() = 0;
  // Before a checkpoint: see TrainPipeline::Settle.
  virtual void Settle() = 0;
};

// Throws Error, naming the table, for a kind that looks rows up ahead of the step, and raw ids,
// which find their rows in the step, rows that pass through a cache, also where the plan says so,
// and a rule that changes rows before they are looked up. `plan`: of ranks.
void CheckPipelineKind(PipelineKind kind, const TrainConfig& config,
                       const ShardingPlan* plan = nullptr);

// A pipeline of one trainer, which outlives it; every rank makes one.
class TrainerPipeline {
 public:
  // Throws Error as CheckPipelineKind.
  TrainerPipeline(Trainer& trainer, PipelineKind kind);

  // source: outlives the result, and is used by it alone. scored: whether steps give the
  // predictions of their batches.
  std::unique_ptr<TrainerSteps> Over(DataSource& source, bool scored);

 private:
  Trainer& trainer_;
  PipelineKind kind_;
  std::unique_ptr<PipelinedEmbeddings> embeddings_;  // null where they are left alone
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_PIPELINE_TRAINER_PIPELINE_H_
