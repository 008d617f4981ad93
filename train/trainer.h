#ifndef TESSERA_TRAIN_TRAINER_H_
#define TESSERA_TRAIN_TRAINER_H_
// Trains a ranking model one step at a time: the model, its optimizers and its progress.
//
// With accumulate_steps a batch is cut into micro-batches, of a multiple of 128 examples: each goes
// forward and backward on its own, in the memory of a micro-batch, and the step has the bits of the
// whole batch (runtime/accumulation.h; on a GPU but for the order of sums in dense gradients).
//
// A step: outputs = model(batch); loss = Σ_t weight_t · mean of task t's losses over the rows that
// count for it (Σ w·l / Σ w with w the examples' weights), without tasks the mean cross entropy,
// and the losses that AddLoss has added; backward, inside which the tables are updated; then the
// dense optimizer, on clipped gradients if asked; then the next learning rates of the schedule, if
// there is one, for tables and dense parameters alike. Equal configurations, seeds and batches give
// equal bits, with any number of threads. On a GPU batches are moved there, and a step waits once
// for each loss.
//
// On several ranks (ranks.h) every rank has a trainer, which shards the tables, and makes the same
// calls with the same batches; losses, predictions and metrics are those of all ranks. Each
// sharding group trains its own copy of the tables between two calls of AverageGroups.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/data_source.h"
#include "embedding/deltas/model_delta_tracker.h"
#include "models/ranking_model.h"
#include "optim/dense_optimizer.h"
#include "optim/warmup_optimizer.h"
#include "runtime/tensor.h"
#include "sharding/checkpoint/checkpoint.h"
#include "sharding/distributed_model_parallel.h"
#include "train/checkpoint/incremental_checkpoints.h"
#include "train/checkpoint/rank_checkpoints.h"
#include "train/checkpoint/raw_id_parts.h"
#include "train/config/train_config.h"
#include "train/ranks.h"
#include "train/task_meter.h"
#include "train/task_rows.h"

namespace tessera {

class ItemFrequencies;

// Predictions and labels of one batch for one task, on the context's device.
struct ScoredBatch {
  Tensor predictions, labels, weights;  // [B]; labels and weights are 0 of rows that don't count
  Tensor counts = {};                   // [B], 1 of rows that count, else 0; undefined: all count
  Batch batch = {};                     // the rows themselves
};

// A loss beside the model's own: a step minimizes their sum, this one times `weight`.
struct AuxiliaryLoss {
  std::string name;
  float weight = 1;
  // Returns the mean over the batch's examples, of shape [], computed by recorded ops of ctx
  // (runtime/ops/loss.h). outputs: as RankingModel::Forward's. With ranks, and with
  // micro-batches, it is called for each part of a batch.
  std::function<Variable(Context& ctx, const Variable& outputs, const Batch& batch)> mean;
};

class Trainer {
 public:
  // The context's random numbers, which should be seeded with config.seed, fill the model.
  // Throws Error for a plan that does not fit.
  Trainer(Context& ctx, const TrainConfig& config, std::optional<TrainingRanks> ranks = {});

  // Adds a loss to all steps from now on. A checkpoint does not keep it. With ranks, every
  // rank adds the same losses in the same order. Throws Error for a name that another loss has, or
  // "cross_entropy", the name of the model's own, and for a weight that is not finite.
  void AddLoss(AuxiliaryLoss loss);

  // Trains one batch and returns its loss before the update (of several losses the weighted sum).
  // Throws Error, and trains nothing, if the loss is not a finite number, for weights of examples
  // below 0 or not finite, for another number of labels than the data have, and for labels outside
  // 0 to 1 of a task by bce. `scored` gets, for each task, the predictions of this rank's part
  // before the update.
  double Step(const Batch& batch, std::vector<ScoredBatch>* scored = nullptr);
  // The losses of the last step, by name (a task's, "cross_entropy" without tasks, an added one's),
  // before they were multiplied by their weights.
  const std::map<std::string, double>& losses() const { return losses_; }
  // Calls `watch` before each step with this rank's part of its batch, on the model's device. An
  // exception that it throws ends the step, which has changed nothing.
  void WatchSteps(std::function<void(const Batch& part)> watch) { watch_ = std::move(watch); }
  // Returns this rank's part of a batch, on the device of `on`. Step takes it in place of the
  // batch, so another thread can cut the next batch meanwhile. REQUIRES: `host` works in host
  // memory; only that thread uses `host` and `on`.
  Batch PartOf(Context& host, Context& on, const Batch& batch) const;
  // The next step begins a new epoch.
  void EndEpoch();
  // Sets the tables of all sharding groups, and the states of their rules, to the mean over the
  // groups, if a step has changed them since the last mean; does nothing without groups. A step
  // does so once in sync_interval, and Save, Predict and Evaluate before all else. Every rank
  // calls.
  void AverageGroups();
  // Number of means so far.
  int64_t averages() const { return averages_; }
  // Returns predictions (RankingModel::Probabilities), [B], or [B, tasks] of several tasks, on the
  // context's device. Trains nothing.
  Tensor Predict(const Batch& batch);
  // Returns the metrics over all batches. `stop`, asked before each batch, ends it early. With
  // ranks, rank 0 alone computes metrics and calls `on_scored`, with one run of examples for each
  // task, and the batch in host memory.
  using OnScored = std::function<void(std::span<const TaskExamples>, const Batch&)>;
  EvaluationValues Evaluate(DataSource& source, const std::function<bool()>& stop = nullptr,
                            const OnScored& on_scored = nullptr);
  // The configuration's, at least one.
  const std::vector<TrainTask>& tasks() const { return tasks_; }

  // Epochs and steps that are done, the row that comes next, and what SetData and SetEvaluation
  // have set.
  TrainingProgress progress() const;
  // Names the data that the rows of `progress` belong to (data_identity.h), for checkpoints saved
  // from now on.
  void SetData(std::string data) { progress_.data = std::move(data); }
  // Sets the state of the evaluation schedule (run/evaluation_schedule.h), for checkpoints saved
  // from now on; "": none.
  void SetEvaluation(std::string evaluation) { progress_.evaluation = std::move(evaluation); }
  // Returns all that Step changes, by its names in a checkpoint, except sharded tables and the
  // states of the dense optimizer, the schedule and raw ids. It shares memory.
  std::vector<NamedTensor> State() const;
  // Returns the states of the dense optimizer, without those of parts of tables, of the schedule
  // and of a model's item frequencies, likewise.
  std::vector<NamedTensor> RestOfState() const;
  // A file; with ranks a folder (sharding/checkpoint/checkpoint.h). `metrics`: state of metrics,
  // the same on all ranks, saved with it.
  void Save(const std::string& path, const std::vector<NamedTensor>& metrics = {});
  // Marks rows that change from now on for the next delta. Call it before a training goes on from
  // where `Load` or a save of incremental checkpoints left it. It takes 4 bytes a row.
  void TrackChanges();
  // Saves the next file of a chain: a whole checkpoint, or what changed since the last save.
  // REQUIRES: where a chain goes on, its last file was loaded, and TrackChanges called, before
  // anything was trained. The first is for a trainer without ranks; every rank calls the second and
  // saves its part.
  void Save(IncrementalCheckpoints& to, const std::vector<NamedTensor>& metrics = {});
  void Save(RankCheckpoints& to, const std::vector<NamedTensor>& metrics = {});
  // Loads weights, what is known of raw ids, and optimizer state with progress, whatever form the
  // checkpoint was saved in. Where state or progress is missing, the other one is not taken:
  // optimizers start afresh, and Load returns false. Throws Error for one that does not fit, and
  // changes nothing (but raw ids that were loaded before refused ones stay; with ranks, the
  // trainer's state may be lost). With ranks, each has its own `checkpoint`, and reads its parts.
  //
  // Growing tables may have been saved in other parts (checkpoint/raw_id_parts.h); then this
  // trainer must have trained nothing.
  bool Load(const Checkpoint& checkpoint);
  // Loads what ranks saved, under any plan; column blocks that stay the same keep their per-row
  // states, unless growing tables change their parts. REQUIRES: a trainer with ranks.
  bool Load(ShardedCheckpoint& checkpoint);
  // Tables of raw ids that what was loaded last had in other parts.
  const std::vector<MovedIds>& moved_ids() const { return moved_ids_; }

  // State of metrics that was in what was loaded last.
  const std::vector<NamedTensor>& loaded_metrics() const { return loaded_metrics_; }

  const TrainConfig& config() const { return config_; }
  Context& context() { return ctx_; }
  RankingModel& model() { return model_; }
  const RankingModel& model() const { return model_; }
  // Returns nullptr for one rank by itself.
  Communicator* comm() const { return ranks_ ? ranks_->comm : nullptr; }
  const std::optional<TrainingRanks>& ranks() const { return ranks_; }
  // Sharding groups, each of which holds all tables.
  int num_groups() const { return ranks_ ? ranks_->num_groups() : 1; }

 private:
  void MakeOptimizer();
  std::shared_ptr<Optimizer> TableOptimizer();
  Batch MyPart(const Batch& batch);
  Variable Forward(const Batch& batch);
  std::vector<LossRows> RowsOfTasks(const Batch& part);
  std::vector<Variable> Losses(const Variable& outputs, const Batch& batch,
                               const std::vector<LossRows>& counted, int64_t rows,
                               const Tensor& log_q = {});
  // For each example of this rank's part, the log of how often its candidate comes in a step of all
  // ranks; undefined where the model corrects nothing. Every rank calls.
  Tensor LogFrequencies(const Batch& part);
  std::vector<ScoredBatch> Scored(const Variable& outputs, const Batch& batch,
                                  const std::vector<LossRows>& counted);
  double ReadLossSync(const std::vector<Variable>& losses);
  void Backward(Tape& tape, const std::vector<Variable>& losses);
  double StepBackward(const Batch& batch, int64_t rows, std::vector<ScoredBatch>* scored);
  double AccumulateBackward(const Batch& batch, int64_t rows, std::vector<ScoredBatch>* scored);
  // Losses of all examples of this rank's part, from their outputs.
  std::vector<Variable> LossesOfAll(const Tensor& outputs, const Batch& batch,
                                    const std::vector<LossRows>& counted, int64_t rows);
  void AccumulateForwards(int forwards);
  // The model's outputs for a whole batch, of all ranks. Every rank calls.
  Tensor OutputsOf(const Batch& batch);
  Tensor ScoresOfCandidates(const Tensor& outputs);
  // Values of all tasks, the same on every rank, as rank 0 has counted. Every rank calls.
  EvaluationValues ValuesOf(const EvaluationMeter& meter);
  // Calls fn on the ranks of the first sharding group, whose tables stand for all. If it throws on
  // any, every rank throws. Every rank calls.
  void OnFirstGroup(const std::function<void()>& fn);
  // This rank's shards of tables; `own` gets what the rank alone has beside them.
  std::vector<ShardTensors> MyShards(std::vector<NamedTensor>& own);
  // Throws Error where a dense parameter has a value that is no finite number: the checkpoint that
  // there is stays.
  void CheckConverges();
  // Everything that a checkpoint has.
  std::vector<NamedTensor> SavedState(const std::vector<NamedTensor>& metrics);
  void BeginChanges();
  std::vector<ChangedRows> ChangesSync() const;
  // State that this rank writes.
  RankState RankStateSync(const std::vector<NamedTensor>& metrics, bool whole);
  void ClearChanges();
  void GoOnFrom(const TrainingProgress& progress);
  bool LoadAlone(const Checkpoint& checkpoint);
  bool LoadParts(ShardedCheckpoint& checkpoint);
  // The checkpoint with growing tables in this model's parts.
  Checkpoint InTheseParts(Checkpoint checkpoint);
  // Gives rows of this rank's tables as they are now.
  NewRows RowsNow() const;
  void CheckStateIsThere(const std::string& path, const std::vector<std::string>& names) const;
  // Keys of the dense optimizer by unsharded names.
  std::vector<std::string> DenseOptimizerKeys() const;
  // Reads the state of raw ids for this rank's parts of tables.
  std::vector<NamedTensor> IdsIn(ShardedCheckpoint& checkpoint);
  // Returns, for tables in order, the rows in use once the checkpoint is loaded. Throws Error for a
  // growing table that cannot have them.
  std::vector<int64_t> RowsAfter(const Checkpoint& checkpoint) const;
  // Names, types and shapes of State with so many rows of growing tables, which may have no memory.
  std::vector<NamedTensor> StateOfRows(const std::vector<int64_t>& rows) const;
  void ShowRows(const std::vector<int64_t>& rows);
  // Loads the state of raw ids and metrics, and of the optimizer and the schedule if
  // with_optimizer.
  void LoadRest(const std::vector<NamedTensor>& rest, bool with_optimizer);

  Context& ctx_;
  TrainConfig config_;
  std::optional<TrainingRanks> ranks_;
  std::unique_ptr<Context> host_;  // with ranks: cuts batches
  RankingModel model_;
  std::optional<DistributedModelParallel> parallel_;  // with ranks
  std::shared_ptr<DenseOptimizer> dense_;
  std::shared_ptr<WarmupOptimizer> warmup_;       // null without a schedule
  std::shared_ptr<Optimizer> optimizer_;          // of tables and dense parameters
  std::shared_ptr<ItemFrequencies> frequencies_;  // of a model that corrects by them, else null
  // Since the last save, where they are tracked; with ranks, of each of ShardedTables::parts.
  std::vector<ModelDeltaTracker> changes_;
  bool was_tracking_ = false;  // tables go on marking rows: none of them can go
  std::vector<TrainTask> tasks_;
  int64_t num_labels_;
  std::vector<AuxiliaryLoss> more_losses_;
  std::vector<Tensor> loss_weights_;  // of all losses, those of tasks first; undefined: 1
  std::map<std::string, double> losses_;
  bool groups_differ_ = false;  // a step has changed tables since their last mean
  int64_t averages_ = 0;
  std::function<void(const Batch& part)> watch_;
  std::vector<NamedTensor> loaded_metrics_;
  std::vector<MovedIds> moved_ids_;
  TrainingProgress progress_;  // iter and random numbers are asked for when needed
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_TRAINER_H_
