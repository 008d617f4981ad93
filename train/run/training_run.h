#ifndef TESSERA_TRAIN_RUN_TRAINING_RUN_H_
#define TESSERA_TRAIN_RUN_TRAINING_RUN_H_
// The training loop: epochs of steps, evaluations inside and after them, checkpoints. Ranks run it
// together; each calls its own functions of the options, and all stop if one does.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/data_sets.h"
#include "train/pipeline/pipeline_kind.h"
#include "train/run/training_metrics.h"
#include "train/run/training_report.h"
#include "train/trainer.h"

namespace tessera {

struct TrainingRunOptions {
  std::string checkpoint = {};   // written after each epoch, and when stopped; "": never
  int64_t checkpoint_every = 0;  // and after each so many steps; 0: not
  // How many checkpoints stay, the newest among them (kept_checkpoints.h); absent: the newest
  // alone, and earlier ones of this training that are beside it. Not with `incremental`, which has
  // its own.
  std::optional<int64_t> keep_last = {};
  // Without keep_last, too, the first save removes what other trainings have kept beside it.
  bool overwrites = false;
  bool goes_on_there = false;  // the trainer was loaded from `checkpoint`, or one kept beside it
  // Written when an evaluation is the best so far, as `checkpoint` is without `incremental`; "":
  // never. The configuration's "evaluation" says by which metric.
  std::string best = {};
  // `checkpoint` is a folder of incremental ones.
  std::optional<IncrementalOptions> incremental = {};
  // The chain that the trainer was loaded from, which goes on.
  std::optional<ChainPosition> resumed = {};
  // The folder of incremental ones of ranks that the trainer was loaded from: under the same plan
  // its chains go on.
  std::string resumed_of_ranks = {};
  // How steps of the next batches overlap with this one's; the same on all ranks. A run by
  // kSemiSync that goes on from a checkpoint equals one that saved it there and never stopped.
  PipelineKind pipeline = PipelineKind::kNone;
  TrainingMetricsOutput metrics = {};  // the same on all ranks, of which the first writes
  std::function<bool()> stop = [] { return false; };  // asked between steps
  std::function<void(const StepReport&)> on_step = [](const StepReport&) {};
  std::function<void(int64_t step)> on_save = [](int64_t) {};  // before `checkpoint` is saved
  // After `checkpoint` or `best`, which `path` is, was saved.
  std::function<void(const std::string& path)> on_saved = [](const std::string&) {};
  // Gets sentences for people, maybe on a thread of the pipeline.
  std::function<void(const std::string&)> on_warning = [](const std::string&) {};
  std::function<void(int64_t epoch)> on_epoch_begin = [](int64_t) {};
  std::function<void(const EpochReport&)> on_epoch = [](const EpochReport&) {};
  // Where the configuration has "evaluation": before and after each evaluation that counts, those
  // after an epoch among them.
  std::function<void(const EvaluationPoint&)> on_evaluation_begin = [](const EvaluationPoint&) {};
  std::function<void(const EvaluationReport&)> on_evaluation = [](const EvaluationReport&) {};
};

// Throws Error for options that a run cannot have: an "evaluation" of the configuration, or `best`,
// without rows for evaluation, or with a metric or an interval that do not fit; `best` without
// "evaluation"; and `best` inside epochs beside kSemiSync.
void CheckEvaluations(const TrainConfig& config, const DataSets& data,
                      const TrainingRunOptions& options);

// Goes on from where the trainer stands until config().epochs are done, its evaluations say that it
// stops early, or `stop` says so. A trainer that is at its end is only saved, and evaluated. Throws
// Error for data that cannot be read or have no row to train on, and as CheckEvaluations.
TrainingRunReport RunTraining(Trainer& trainer, const DataSets& data,
                              const TrainingRunOptions& options = {});

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_TRAINING_RUN_H_
