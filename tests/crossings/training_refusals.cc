#include "tests/crossings/training_refusals.h"

#include "tests/crossings/reasons.h"

namespace tessera::testing {

namespace {
constexpr char kTowers[] = "two_tower|two_tower_corrected";
constexpr char kCounting[] =
    "counter_rowwise_adagrad|counter_rowwise_adagrad_2|counter_rowwise_adagrad_3|"
    "cowclip_rowwise_adagrad|global_decay_rowwise_adagrad|rowwise_rmsprop_ar|adam_2";
}  // namespace

const std::vector<Refusal>& TrainingRefusals() {
  static const std::vector<Refusal> refusals = {
      {"rule", "emainplace_rowwise_adagrad", "sharding", kColumnBlocks,
       "its rule emainplace_rowwise_adagrad needs whole rows", kHalvesReason},
      {"rule", "global_decay_rowwise_adagrad", "keys", "shared", "reads its key cat_1 alone",
       kOneKeyReason},
      {"keys", "shared", "ids", kRawIds, "its ids can become the rows of one only",
       "A feature's raw ids are replaced by rows of one table; another table would read them as "
       "its "
       "own."},
      {"rule", kActFirst, "pipeline", "semi_sync", "changes rows before they are looked up",
       kActFirstReason},
      {"rule", "custom", "after", "f32|int8|delta|c_api",
       "no optimizer of tables is called 'remembered_gradient'",
       "A checkpoint's configuration names the rule; a program that does not have it cannot read "
       "this. Export with a configuration of a rule of the library."},
      {"rule", "dense", "rows", "f16|bf16|f16_by_chance|bf16_by_chance",
       "but its rule dense leaves them to the optimizer of the dense part, which trains f32",
       "Optimizers of the dense part keep f32, as torch.optim does of f32 parameters."},
      {"rule", "dense", "location", "MANAGED_CACHING|DISK",
       "is for rules that update rows, not for dense",
       "The optimizer changes all rows in each step: a cache would hold the whole table."},
      {"location", "MANAGED_CACHING|DISK", "pipeline", "semi_sync",
       "its rows pass through a cache, which holds those of one training batch at a time",
       kCacheReason},
      {"ids", kRawIds, "sharding", "data_parallel|column_wise|table_column_wise|grid_shard",
       "its raw ids become rows on one rank each", kOneRankReason},
      {"ids", kRawIds, "pipeline", "semi_sync", "find their rows inside the step", kInsideReason},
      {"processor", "position", "pipeline", "semi_sync",
       "its position_weights are learned in each step",
       "The pipeline looks the next batch up before the step of this one, with weights of the step "
       "before."},
      {"accumulation", "2", "ids", kRawIds, "train.accumulate_steps: 2 beside the raw ids",
       kOneBatchReason},
      {"accumulation", "2", "pipeline", "sparse_dist|prefetch|semi_sync",
       "train.accumulate_steps: 2 beside the pipeline",
       "These pipelines bring ids and rows of a whole step's batch, before it is cut."},
      {"model", kTowers, "processor", "attention", "two_tower beside attention",
       "Each tower's rows are made without the other's; a sequence in one would see its target in "
       "the other."},
      {"model", kTowers, "accumulation", "2",
       "train.accumulate_steps: 2 beside the loss in_batch_softmax",
       "An example's candidate is compared with those of its whole batch, which a micro-batch has "
       "not."},
      {"kept", "2", "checkpoint", "incremental", "keep_last beside incremental",
       "Incremental checkpoints have chains of their own, of which --keep-chains keeps earlier "
       "ones."},
      {"evaluation", "best", "pipeline", "semi_sync",
       "--best with evaluations inside epochs beside --pipeline semi_sync",
       "A save inside an epoch takes back the batch that was looked up ahead; what is trained "
       "would depend on which evaluation is the best."},
      {"groups", "2", "rule", kCounting, "each group counts its own batches",
       "Copies become their mean; the mean of the steps at which rows came last is no such step.",
       "sharding=row_wise"},
      {"groups", "2", "rule", "dense", "--sharding-group-size beside the optimizer dense of table",
       "What the dense optimizer remembers of a table's rows is not averaged.",
       "sharding=row_wise"},
      {"groups", "2", "rule", "custom", "what a plugin's rule remembers can be averaged",
       "A rule from outside may remember what has no mean.", "sharding=row_wise"},
      {"groups", "2", "rows", "f16_by_chance|bf16_by_chance",
       "--sharding-group-size beside stochastic_rounding of table",
       "The mean of copies is rounded to nearest: a step by chance of one of them would be lost.",
       "sharding=row_wise"},
      {"groups", "2", "location", "DISK", "--sharding-group-size beside table",
       "Copies are averaged in memory.", "sharding=row_wise"},
      {"groups", "2", "ids", kRawIds, "--sharding-group-size beside managed_collision of table",
       "Each group would give rows to other ids.", "sharding=row_wise"},
      {"groups", "2", "pipeline", "prefetch|semi_sync", "--sharding-group-size beside --pipeline",
       "These pipelines bring rows before their step; the mean would change them in between.",
       "sharding=row_wise"},
      {"groups", "2", "checkpoint", "incremental",
       "incremental checkpoints of ranks in sharding groups",
       "A delta has the rows that a group's own ranks have changed.", "sharding=row_wise"},
      {"groups", "2", "verify", "again|one_rank", "not beside --sharding-group-size",
       "Each group has tables of its own between two means.", "sharding=row_wise"},
      {"location", "MANAGED_CACHING|DISK", "verify", "again|one_rank",
       "reads the rows of tables in memory of their process: not beside location",
       "A digest reads rows where the step will read them; those in a cache have two places."},
      {"ids", kRawIds, "verify", "again|one_rank", "whose raw ids find their rows inside a step",
       "A digest is taken before the step, when no row is known for a new id."},
      {"rule", "dense", "verify", "again|one_rank", "its rule dense leaves them",
       "On ranks the table is a parameter of the sharded model, by another name. (In one process "
       "the two go together.)",
       "sharding=row_wise"},
      {"rule", "custom", "verify", "again|one_rank",
       "no optimizer of tables is called 'remembered_gradient'",
       "A record's configuration names the rule; a program that does not have it cannot read "
       "this."},
      {"dense", "rowwise_adagrad", "model",
       "dlrm|dlrm_dcn|dlrm_projection|deepfm|two_tower|two_tower_corrected", "is no matrix",
       "The optimizer keeps a number a row of a matrix (as TorchRec's does); every model has "
       "biases, "
       "which have no rows. It is for a program's own matrices."}};
  return refusals;
}

}  // namespace tessera::testing
