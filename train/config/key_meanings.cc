#include "train/config/key_meanings.h"

#include <iterator>
#include <vector>

namespace tessera {
namespace {

constexpr KeyMeaning kMeanings[] = {
    {"$schema", "Where an editor finds the JSON Schema of this document. It is not read."},
    // ---- tables
    {"tables", "The embedding tables."},
    {"tables[].name", "The name of the table, which no other table has."},
    {"tables[].rows", "Rows of the table. Ids are taken modulo this number, except raw ids."},
    {"tables[].dim",
     "Columns of the table. Except with mmoe, ple and two_tower all tables have the same number: "
     "the last size of model.dense_arch, where there is one."},
    {"tables[].features",
     "The features whose ids name rows of this table. Several tables may name one feature."},
    {"tables[].pooling", "How the rows of the ids of one example become one: SUM or MEAN."},
    {"tables[].dtype", "The number format in which the rows are stored."},
    {"tables[].state_dtype",
     "The number format in which the optimizer's state is stored. f16 loses second moments of "
     "adam, "
     "adamw and partial_rowwise_adam where gradients are below some 0.005: take bf16 there."},
    {"tables[].stochastic_rounding",
     "Whether an updated 16-bit row is rounded up or down by chance, rather than to the nearest "
     "number."},
    {"tables[].location",
     "The memory that holds the rows: DEVICE (the GPU's on a GPU), HOST, MANAGED (unified memory), "
     "MANAGED_CACHING (host memory with a cache on the GPU), DISK (a file with a cache in "
     "memory)."},
    {"tables[].cache", "The row cache of a table whose location is MANAGED_CACHING or DISK."},
    {"tables[].cache.policy",
     "Which row leaves a full set: the least recently or least often used."},
    {"tables[].cache.ways", "Rows of a set of the cache; 1 is direct-mapped."},
    {"tables[].cache.load_factor", "Rows of the cache as a fraction of the table's, up to 1."},
    {"tables[].cache.bytes",
     "If above 0: the size of the cache of each shard in bytes of rows and states, in place of "
     "load_factor."},
    {"tables[].cache.scratch_rows",
     "Rows of room for ids of a batch that find no place in the cache. 0: as many as the largest "
     "batch so far needs."},
    {"tables[].cache.folder",
     "With location DISK: the folder of the file. Without it: $TMPDIR, or /tmp."},
    {"tables[].init_range",
     "[low, high] between which the first values are uniform. Without it: ±√(1/rows)."},
    {"tables[].managed_collision",
     "Raw ids of this table, as managed_collision. null: none, whatever the document says."},
    {"tables[].optimizer",
     "The optimizer of this table. Without it the table has optimizer.sparse."},
    // ---- raw ids
    {"managed_collision",
     "Raw 64-bit ids, which find their rows while the model trains, for every table without a key "
     "of this name of its own."},
    {"managed_collision.kind",
     "growing: rows come as ids come, then change hands. mch: TorchRec's "
     "MCHManagedCollisionModule. hash_zch: TorchRec's HashZchManagedCollisionModule."},
    {"managed_collision.num_parts",
     "Parts that a hash of the ids makes of the table, which training over ranks needs. It divides "
     "the rows. 0: one part, which cannot be split."},
    {"managed_collision.eviction", "Which id loses its row to a new one."},
    {"managed_collision.eviction@hash_zch",
     "Which id loses its slot: none, one whose time to live is over, or of these the one that has "
     "not come for longest."},
    {"managed_collision.admit_after",
     "An id gets a row when it comes for about this many-th time. Counts fade: it must come so "
     "often "
     "among the last rows·admit_after/2 or so items whose ids have no row, and among more of them "
     "with a larger sketch_bytes."},
    {"managed_collision.sketch_bytes",
     "Bytes of the sketch that counts ids before they have a row. 0: four for each row. Where a "
     "batch has more ids without a row than these bytes, counts of different ids run together, and "
     "ids get rows too early."},
    {"managed_collision.shared_rows", "Rows that ids without a row of their own share by hash."},
    {"managed_collision.decay_exponent",
     "With DISTANCE_LFU: an id's count is divided by its distance in steps to this power."},
    {"managed_collision.admission", "Which new ids compete for rows."},
    {"managed_collision.admission.kind",
     "all; dynamic: ids that come more often than their share in the batch times skew_multiplier "
     "would say; average: ids that come more often than the average id; probabilistic: by chance."},
    {"managed_collision.admission.skew_multiplier",
     "The factor of the threshold of dynamic admission."},
    {"managed_collision.admission.per_id_probability",
     "The chance of each occurrence of an id to admit it."},
    {"managed_collision.eviction_interval", "Steps between two evictions."},
    {"managed_collision.input_hash_size",
     "If above 0: ids are hashed to numbers below this one first."},
    {"managed_collision.input_hash_size@hash_zch",
     "If above 0: ids are below this one, and each bucket has a range of them. It only chooses the "
     "bucket; with one bucket it changes nothing. 0: the bucket is the id mod total_num_buckets."},
    {"managed_collision.mch_size", "Rows that ids without a row of their own share by hash."},
    {"managed_collision.single_ttl",
     "The time to live of an id with SINGLE_TTL_EVICTION and LRU_EVICTION, in units of clock."},
    {"managed_collision.per_feature_ttl",
     "With PER_FEATURE_TTL_EVICTION: the time to live of the ids of each feature of the table."},
    {"managed_collision.clock",
     "The unit of time: FORWARDS, training steps, which makes runs repeatable, or HOURS."},
    {"managed_collision.total_num_buckets", "Buckets of the hash table; they divide the rows."},
    {"managed_collision.max_probe", "Slots in which an id is looked for."},
    {"managed_collision.opt_in_prob",
     "The chance in percent that a new id competes for a slot, drawn for each of its occurrences. "
     "-1: every id does."},
    {"managed_collision.percent_reserved_slots",
     "With opt_in_prob: the percentage of each bucket that ids without a slot share."},
    {"managed_collision.disable_fallback",
     "Whether an id without a slot reads no row, rather than that of another id."},
    // ---- model
    {"model", "The network on top of the tables."},
    {"model.type",
     "dlrm: dot products of all pairs. dlrm_dcn: a low-rank cross network. dlrm_projection: dot "
     "products of two projections. deepfm: a factorization machine beside an MLP. mmoe, ple: "
     "experts that tasks share. two_tower: the product of a query's and a candidate's vector."},
    {"model.dense_in",
     "Dense numbers of an example: 13 for criteo and planted, 1 for movielens, those of data.dense "
     "for files of your own. 0: the model does without them, and without dense_arch (deepfm: "
     "hidden)."},
    {"model.dense_arch", "Layer sizes of the MLP over the dense numbers."},
    {"model.over_arch",
     "Layer sizes of the MLP on top, two or more. The last is 1, or the number of tasks."},
    {"model.dcn_layers", "Layers of the cross network."},
    {"model.dcn_low_rank", "Rank of each cross layer."},
    {"model.branch1",
     "Layer sizes of the first projection. The last is a multiple of the tables' dim."},
    {"model.branch2",
     "Layer sizes of the second projection. The last is a multiple of the tables' dim."},
    {"model.hidden", "Size of the hidden layer of the dense numbers."},
    {"model.deep_fm_dim", "Outputs of the deep part."},
    {"model.experts", "Experts that all tasks share; of ple in each layer."},
    {"model.expert_arch", "Layer sizes of each expert."},
    {"model.tower_arch", "Layer sizes of each task's tower, two or more. The last is 1."},
    {"model.layers@ple", "Extraction layers."},
    {"model.layers@two_tower",
     "Layer sizes of each of the two towers; ReLU after all but the last."},
    {"model.task_experts", "Experts of each task's own, in each layer."},
    {"model.query", "Features of the query's tower."},
    {"model.candidate", "Features of the candidate's tower."},
    {"model.temperature",
     "The product of both vectors is divided by this number, above 0, wherever it is used: in "
     "losses, evaluations and answers."},
    {"model.normalize",
     "Whether both vectors are divided by their length first, so that their product is a cosine."},
    {"model.sampling_correction",
     "While training, the score of each candidate in a task by in_batch_softmax is less by the log "
     "of how often it comes in a step, which is estimated as batches come (Yi et al., RecSys "
     "2019): "
     "popular items are then not pushed away for being negatives more often. Without it: scores "
     "stay as they are."},
    {"model.sampling_correction.slots",
     "Slots of 12 bytes that hashes of items share. An item is known by its ids under all features "
     "of candidate."},
    {"model.sampling_correction.alpha",
     "The weight of a new gap between two occurrences of an item in its average, up to 1."},
    {"model.weighted",
     "Whether ids come with weights, by which their rows are multiplied: features of the data then "
     "have weights or weight_after."},
    {"model.position_weights",
     "{feature: longest bag}: the id at each position of these features has a learned weight. Not "
     "beside weighted."},
    {"model.attention",
     "Sequences that are pooled by how much each of their rows matters to the row of a target, as "
     "in Deep Interest Network. Without it: none."},
    {"model.attention[].sequence", "The feature whose bags are sequences, which one table reads."},
    {"model.attention[].target",
     "The feature that a sequence is compared with, which one table of the same dim reads."},
    {"model.attention[].max_length", "Most ids of a sequence."},
    {"model.attention[].layers", "Sizes of the hidden layers of the MLP that scores a row."},
    {"model.tasks", "What the model predicts. Without it: the first label of the data, by bce."},
    {"model.tasks[].label",
     "The label that is learned, one of data.labels. Data without names of labels have \"label\"."},
    {"model.tasks[].name", "The name of the task in reports. Without it: the label, or the loss."},
    {"model.tasks[].loss",
     "bce: cross entropy of a label from 0 to 1. mse: squared error of any number. "
     "in_batch_softmax, of two_tower: choosing the example's candidate among the batch's."},
    {"model.tasks[].weight", "The factor of this loss in the sum of all."},
    {"model.tasks[].where", "A label: only rows where it is above 0 count for this task."},
    // ---- optimizers
    {"optimizer", "The optimizers."},
    {"optimizer.sparse", "The optimizer of tables without one of their own, applied in backward."},
    {"optimizer.sparse.name",
     "The update rule: docs/guide/optimizers.md lists their states, optim/rules/ their formulas. "
     "dense: the table is trained by optimizer.dense. --plugin FILE adds a rule of your own "
     "(docs/guide/rule_plugin.md), with its own options."},
    {"optimizer.sparse.lr", "The learning rate."},
    {"optimizer.sparse.eps", "Added to the denominator."},
    {"optimizer.sparse.beta1", "The share of the first moment that a step keeps."},
    {"optimizer.sparse.beta2", "The share of the second moment that a step keeps."},
    {"optimizer.sparse.eta", "The factor of each row's rate, which its norms give."},
    {"optimizer.sparse.momentum", "The share of the momentum that a step keeps."},
    {"optimizer.sparse.weight_decay", "The weight decay, applied to touched rows."},
    {"optimizer.sparse.nesterov", "Whether the momentum is Nesterov's."},
    {"optimizer.sparse.weight_decay_mode",
     "How weight_decay acts: NONE; L2, added to the gradient; DECOUPLE, taken from the weight; "
     "ADAGRADW, which counter_rowwise_adagrad alone has."},
    {"optimizer.sparse.max_norm", "If above 0: rows are scaled down to this norm after an update."},
    {"optimizer.sparse.use_rowwise_bias_correction",
     "Whether a row's own updates are counted for the bias correction, rather than all steps."},
    {"optimizer.sparse.beta", "The paper's β: the part of the denominator that does not grow."},
    {"optimizer.sparse.l1", "The L1 penalty, which makes weights exactly 0."},
    {"optimizer.sparse.l2", "The L2 penalty."},
    {"optimizer.sparse.ema_beta", "The share of the mean square that a step keeps."},
    {"optimizer.sparse.ar_alpha", "The rate at which rows that come seldom shrink."},
    {"optimizer.sparse.min_shrinkage", "The least factor by which a row shrinks."},
    {"optimizer.sparse.start_iter", "The step from which on rows decay."},
    {"optimizer.sparse.learning_rate_mode", "How a row's rate depends on how often it came."},
    {"optimizer.sparse.counter_halflife",
     "Steps after which a row's count is halved. Below 0: never. 0: it is always 1."},
    {"optimizer.sparse.adjustment_iter",
     "The last step before counts begin to change rates. 0 or less: they do from the first."},
    {"optimizer.sparse.adjustment_ub", "The exponent, or bound, of learning_rate_mode."},
    {"optimizer.sparse.tail_id_threshold", "Rows that came more often than this are adjusted."},
    {"optimizer.sparse.tail_id_threshold_is_ratio",
     "Whether tail_id_threshold is a fraction of max_counter."},
    {"optimizer.sparse.max_counter_update_freq",
     "Steps after which max_counter is computed again. 0 or less: never."},
    {"optimizer.sparse.max_counter", "The largest count of a row at the start."},
    {"optimizer.sparse.weight_norm_coefficient", "The factor of the row's norm in the clip."},
    {"optimizer.sparse.lower_bound", "The least norm to which a gradient is clipped."},
    {"optimizer.sparse.lower_bound@global_decay_rowwise_adagrad",
     "The least factor by which a row decays at once."},
    {"optimizer.sparse.step_ema", "Steps between two updates of the slow copy."},
    {"optimizer.sparse.step_swap", "Steps between two copies of the slow weights to the table."},
    {"optimizer.sparse.step_start", "The step from which on there is a slow copy."},
    {"optimizer.sparse.step_ema_coef", "The coefficient of the moving average of the slow copy."},
    {"optimizer.sparse.step_mode",
     "NONE: the slow copy starts from 0 after each of its updates. USE_ITER: it goes on."},
    {"optimizer.dense", "The optimizer of all parameters that are no tables, as torch.optim's."},
    {"optimizer.dense.name",
     "torch.optim's optimizer of this name. rowwise_adagrad takes matrices alone, and training "
     "refuses it, as every model has biases: adagrad takes all parameters."},
    {"optimizer.dense.lr", "The learning rate."},
    {"optimizer.dense.weight_decay", "L2, added to the gradient; of adamw decoupled."},
    {"optimizer.dense.momentum", "The share of the momentum that a step keeps."},
    {"optimizer.dense.dampening", "The share of a gradient that the momentum leaves out."},
    {"optimizer.dense.nesterov", "Whether the momentum is Nesterov's."},
    {"optimizer.dense.lr_decay", "d in lr/(1 + (t − 1)·d), the rate of step t."},
    {"optimizer.dense.initial_accumulator_value", "What the sums of squares start from."},
    {"optimizer.dense.eps", "Added to the denominator."},
    {"optimizer.dense.beta1", "The share of the first moment that a step keeps."},
    {"optimizer.dense.beta2", "The share of the second moment that a step keeps."},
    {"optimizer.dense.amsgrad", "Whether the second moment never falls."},
    {"optimizer.dense.maximize", "Whether the gradient is negated."},
    {"optimizer.warmup",
     "Stages of a factor of all learning rates, those of tables among them. After the last stage "
     "it is 1. Without it: always 1."},
    {"optimizer.warmup[].policy",
     "The factor at step i, where N is max_iters. none: 1. linear: value + (1 − value)·i/N. "
     "constant: value. poly: (1 − i/decay_iters)^value. step: value^⌊i/decay_iters⌋. inv_sqrt: "
     "1/√i. cosine_annealing_warm_restarts: value + (1 − value)·½(1 + cos(π·(i mod P)/P)), P "
     "sgdr_period. interpolate: from value to end_value."},
    {"optimizer.warmup[].max_iters",
     "N: step i = N, counted from 0 at the first stage's begin, still belongs to this stage, and "
     "the next stage begins at step N + 1, as with TorchRec's WarmupOptimizer."},
    {"optimizer.warmup[].value", "The value of the policy's formula."},
    {"optimizer.warmup[].lr_scale", "Another factor of this stage."},
    {"optimizer.warmup[].decay_iters",
     "decay_iters of the policy's formula. Without it: 1 for step, max_iters for poly."},
    {"optimizer.warmup[].sgdr_period", "Steps between two restarts."},
    {"optimizer.warmup[].start_interpolating_iters",
     "The step at which value is the factor; before it the same line goes on."},
    {"optimizer.warmup[].end_value", "The factor at max_iters."},
    {"optimizer.gradient_clipping", "Clipping of the gradients of the dense parameters."},
    {"optimizer.gradient_clipping.mode",
     "none; norm: all gradients are scaled down together; value: each element is clamped."},
    {"optimizer.gradient_clipping.max_gradient", "The largest norm, or the largest element."},
    {"optimizer.gradient_clipping.norm_type", "The p of the p-norm, or \"inf\"."},
    // ---- data
    {"data", "The rows that are trained on, and their order. The files are named by --data."},
    {"data.format",
     "criteo: Criteo's text, npy days, or folders of tessera preprocess. planted, random: rows "
     "made up on the spot. movielens: ratings. jsonl, csv, tsv, npz: files of your own."},
    {"data.missing", "What a missing id becomes: row 0 of its table, or a bag without ids."},
    {"data.prepared",
     "What tessera preprocess had done to the values of the rows that the model was trained on. "
     "Training writes it into what it saves, and rows that were prepared otherwise are refused "
     "then. Without it: nobody knows, and nothing is refused."},
    {"data.shuffle", "Shuffles the rows that are trained on, anew in each epoch."},
    {"data.shuffle.seed", "Seed of the order."},
    {"data.shuffle.window_rows", "Rows that are mixed in memory."},
    {"data.shuffle.block_rows",
     "Rows of a folder that stay together; rows of text are shuffled one by one."},
    {"data.split",
     "Keeps rows of --data for evaluation, told by what they are and not by their place. Not "
     "beside "
     "--eval."},
    {"data.split.by",
     "random: each row by chance. key: rows of one id of a feature, such as one user, lie on one "
     "side, which the id decides by chance. time: the later rows."},
    {"data.split.fraction",
     "The part for evaluation: of the rows, with key of the ids, with time of the last rows."},
    {"data.split.seed", "Seed of chance."},
    {"data.split.feature",
     "The feature that a table reads, whose first id decides, as the model reads it: taken modulo "
     "the table's rows, unless it is raw. Rows without an id lie on one side."},
    {"data.split.at",
     "Rows of this time and later are for evaluation. Without it: the time at which the last "
     "fraction of the rows begins, for which all times are read once more."},
    {"data.split.of_fraction",
     "The fraction of the rows for which a training has found the time of data.split.at. A "
     "checkpoint has both, so that the time stays with any data."},
    {"data.rows", "Rows to train on."},
    {"data.eval_rows", "Rows for evaluation, which follow those to train on."},
    {"data.seed", "Seed of the rows."},
    {"data.vocabulary", "Distinct ids of the largest feature; others have fewer."},
    {"data.zipf", "Exponent of the power law of ids, 0 or more."},
    {"data.click_rate", "The share of rows with a click, above 0 and below 1."},
    {"data.missing_rate", "The share of missing values of each column, below 1."},
    {"data.strength", "Standard deviation of the true logit: how much there is to learn."},
    {"data.ids_per_feature",
     "Ids of a bag: one number for every feature, or one for each of them."},
    {"data.distinct_rows",
     "If above 0: only so many different rows are made, and come again and again."},
    {"data.like_from", "Ratings of this and more are clicks."},
    {"data.columns",
     "Names of the columns. \"cat_{0..25}\" stands for 26. Without it: the first line has them."},
    {"data.delimiter", "The character between columns."},
    {"data.null", "Texts that mean a missing value, as an empty one does."},
    {"data.dense", "Numbers of an example; a name alone has the defaults of all other keys."},
    {"data.dense[].name", "What the model calls it; \"int_{0..12}\" stands for 13."},
    {"data.dense[].from", "Its column. Without it: the name."},
    {"data.dense[].missing", "The number that stands for a missing one, or \"error\"."},
    {"data.dense[].transform",
     "as_is; log1p: log(1 + max(x, 0)); log+C: log(x + C), C an integer."},
    {"data.dense[].normalize", "[mean, deviation]: (x − mean)/deviation, after transform."},
    {"data.dense[].size", "Numbers of a vector."},
    {"data.dense[].separator", "What parts the numbers of a vector's text."},
    {"data.features",
     "Features whose ids need more than their name. Features that tables name and this does not "
     "list have the defaults."},
    {"data.features[].name", "What tables call it; \"cat_{0..25}\" stands for 26."},
    {"data.features[].from", "Its column. Without it: the name."},
    {"data.features[].missing",
     "What a missing value becomes: \"empty_bag\", \"row0\", \"error\", or a number or text that "
     "is read in its place."},
    {"data.features[].ids",
     "How a text becomes an id: int, hex, or text, whose hash it is (XXH64, seed 0, an unsigned "
     "number). Not beside vocabulary and boundaries."},
    {"data.features[].vocabulary",
     "Words, or the file that has one a line. Their ids are 1, 2, …; 0 is any other word."},
    {"data.features[].boundaries", "Numbers that rise. The id is how many of them are at most x."},
    {"data.features[].separator", "What parts the ids of a text. Without it: a text is one id."},
    {"data.features[].weights", "The column of the ids' weights; the model needs weighted."},
    {"data.features[].weight_after",
     "The character between an id and its weight, as \":\" in 12:0.5; the model needs weighted."},
    {"data.features[].drop_last", "Leaves out so many of the last ids."},
    {"data.features[].max_length", "The most ids of a bag. Without it: all."},
    {"data.features[].keep", "Which ids max_length keeps."},
    {"data.labels", "What can be learned; a name alone has the defaults of all other keys."},
    {"data.labels[].name", "What tasks call it."},
    {"data.labels[].from", "Its column. Without it: the name."},
    {"data.labels[].missing",
     "What a row without it is: a number (which is learned as it stands, without at_least), "
     "\"skip\" (the row stays, and tasks of this label leave it out), or \"error\"."},
    {"data.labels[].at_least", "If given: numbers from it on become 1, others 0."},
    {"data.weight",
     "The column of the rows' weights in loss and metrics; a missing cell is 1. Without it: "
     "1."},
    {"data.time", "The column of the rows' time."},
    // ---- training
    {"train", "Batches and epochs."},
    {"train.batch_size", "Examples of a micro-batch, of all ranks together."},
    {"train.accumulate_steps", "Micro-batches of a step."},
    {"train.epochs", "Passes over the rows."},
    {"train.seed", "Seed of the first values and of rounding by chance."},
    {"train.dense_products",
     "Who multiplies dense matrices. \"portable\": Tessera, with the same bits on every CPU and "
     "GPU; some 30 times slower than Eigen on a CPU without AVX2. \"library\": Eigen on a CPU, "
     "cuBLAS on a GPU. \"tf32\", \"bf16\": cuBLAS on a GPU's tensor cores, which round factors to "
     "10 "
     "or 7 bits of mantissa; tensors stay f32. \"default\": portable on a CPU, library on a GPU."},
    {"evaluation",
     "When the rows for evaluation are scored, and what follows. Without it: after each epoch, and "
     "nothing."},
    {"evaluation.every_steps", "Also evaluate after so many steps. Not beside every."},
    {"evaluation.every",
     "Also evaluate after this fraction of an epoch, in whole steps, at least one; the last "
     "fraction is the epoch's end. The number of its rows must be known before they are read: not "
     "beside data.split of text, and of other text with a range of rows that ends (--train-rows)."},
    {"evaluation.metric",
     "The value that decides: \"auc\", \"auc-TASK\", \"loss\", … Without it: the AUC of the first "
     "task if that learns clicks, else the loss."},
    {"evaluation.target", "Training stops when the metric is as good as this."},
    {"evaluation.patience",
     "Training stops after so many evaluations in a row without a better value. 0: never."},
};

}  // namespace

std::span<const KeyMeaning> KeyMeanings() {
  static const std::vector<KeyMeaning> all = [] {
    std::vector<KeyMeaning> meanings(std::begin(kMeanings), std::end(kMeanings));
    const std::span<const KeyMeaning> metrics = internal::MeaningsOfMetrics();
    meanings.insert(meanings.end(), metrics.begin(), metrics.end());
    return meanings;
  }();
  return all;
}

}  // namespace tessera
