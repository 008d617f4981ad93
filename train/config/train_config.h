#ifndef TESSERA_TRAIN_CONFIG_TRAIN_CONFIG_H_
#define TESSERA_TRAIN_CONFIG_TRAIN_CONFIG_H_
// The configuration of `tessera train`: one JSON document, read strictly.
//
//   {"tables": [{"name", "rows", "dim", "features": [...],
//                "pooling", "dtype", "state_dtype", "stochastic_rounding",
//                "location", "cache": {"policy", "ways", "load_factor", "bytes", "scratch_rows",
//                "folder"}, "init_range": [low, high], "managed_collision": {...}, "optimizer":
//                {...}}, …],
//    "managed_collision": {"kind", …},   as in train/config/managed_collision_json.h
//    "model": {"type": "dlrm", "dense_in", "dense_arch": [...], "over_arch": [...]},
//         or {"type": "dlrm_dcn", as dlrm, "dcn_layers", "dcn_low_rank"},
//         or {"type": "dlrm_projection", as dlrm, "branch1": [...], "branch2": [...]},
//         or {"type": "deepfm", "dense_in", "hidden", "deep_fm_dim"},
//         or {"type": "mmoe", "dense_in", "dense_arch", "experts", "expert_arch": [...],
//             "tower_arch": [...]},
//         or {"type": "ple", as mmoe, "layers", "task_experts"},
//         or {"type": "two_tower", "query": [features], "candidate": [features], "layers": [...]},
//         any with "weighted": true, or "position_weights": {feature: longest bag, …}, with
//         "attention": [{"sequence", "target", "max_length", "layers": [...]}, …], and with
//         "tasks": [{"label", "name", "loss": "bce" | "mse" | "in_batch_softmax", "weight", "where"}, …]
//    "optimizer": {"sparse": {"name", "lr", …}, "dense": {"name", "lr", …},
//                  "warmup": [{"policy", "max_iters", "value", …}, …],
//                  "gradient_clipping": {"mode", "max_gradient", "norm_type"}},
//    "data": {"format": "criteo", "missing"},
//         or {"format": "planted", "missing", "rows", "eval_rows", and ClickModelOptions' fields},
//         or {"format": "random", "rows", "eval_rows", "seed", "ids_per_feature": [...],
//             "distinct_rows"},
//         or {"format": "movielens", "like_from"},
//         or {"format": "jsonl", "csv", "tsv" or "npz", and the keys of data/schema/data_schema.h};
//         any with "shuffle": {"seed", "window_rows", "block_rows"}, and, of files, with "split":
//         {"by": "random", "fraction", "seed"}, {"by": "key", "feature", "fraction", "seed"}, or
//         {"by": "time", "at" or "fraction"}; a training saves {"by": "time", "at", "of_fraction"}
//         where it has found the time
//    "train": {"batch_size", "accumulate_steps", "epochs", "seed", "dense_products"},
//    "evaluation": {"every" or "every_steps", "metric", "target", "patience"},
//    "metrics": {...}}   as in metrics/rec_metrics_config.h; rec_tasks default to the model's tasks
//
// A feature may be named by several tables of as many rows, none of which has managed collision.
// "managed_collision", "data", "train", "evaluation", "metrics", "warmup", "gradient_clipping" and
// a table's keys from "pooling" on may be left out. A table without an optimizer of its own has
// optimizer.sparse, one without a "managed_collision" of its own that of the document; with null it
// has none. Ids of a table with managed collision stay raw 64-bit numbers until it finds their
// rows; others are taken modulo the table's rows where they are read.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "embedding/managed_collision/managed_collision_config.h"
#include "metrics/rec_metrics_config.h"
#include "models/ranking_net_config.h"
#include "optim/dense_optimizer_config.h"
#include "optim/gradient_clipping_optimizer.h"
#include "optim/warmup_schedule.h"
#include "runtime/context.h"
#include "train/config/data_config.h"
#include "train/config/evaluation_config.h"

namespace tessera {

struct TrainConfig {
  std::vector<EmbeddingBagConfig> tables;
  ManagedTableConfigs managed_collision;  // of tables that take raw ids
  RankingNetConfig model = {.dense_in = ClickRow::kIntegers};
  AnyRule sparse_optimizer = Sgd{};  // of tables without one of their own
  DenseOptimizerConfig dense_optimizer;
  // Warm-up of all learning rates: each table's and the dense optimizer's are multiplied by it;
  // empty: constant.
  std::vector<WarmupStage> warmup;
  GradientClippingOptions gradient_clipping;  // of the dense parameters
  DataConfig data;
  // Examples of a micro-batch. A step trains on accumulate_steps of them, with the bits of one
  // batch.
  int64_t batch_size = 256, accumulate_steps = 1;
  int64_t epochs = 1;
  uint64_t seed = 1;
  DenseProducts dense_products = DenseProducts::kDefault;
  // Absent: each epoch's end is evaluated, and no result ends the training early.
  std::optional<EvaluationConfig> evaluation;
  std::optional<RecMetricsConfig> metrics;  // of a training, where they are asked for
};

// Examples of one step, of all ranks together.
inline int64_t ExamplesOfStep(const TrainConfig& config) {
  return config.batch_size * config.accumulate_steps;
}

// Throws Error that begins with `source` (a file's name) and says which key, what was expected and
// what came; where several are wrong, a line for each.
TrainConfig ParseTrainConfig(const std::string& text, const std::string& source);
TrainConfig ReadTrainConfig(const std::string& path);

// Returns the JSON Schema of a configuration without meanings: config_reference.h adds them.
std::string DescribeTrainConfig();

// Throws Error for accumulate_steps beside what it does not go with, naming both.
void CheckAccumulation(const TrainConfig& config);

// The metrics' task of a model's task, of "prediction_<name>", "label_<name>" and "weight_<name>".
RecTask RecTaskOf(const std::string& name);
std::vector<RecTask> RecTasksOf(const std::vector<TaskConfig>& tasks);

// The document, every key spelled out. ParseTrainConfig gives the same configuration back, or
// throws Error where one that a program made does not fit together: where, say, rows of its `data`
// (Criteo's unless it has others) lack features that its tables read.
std::string ToJson(const TrainConfig& config);

// The features of all tables, each once, in the order of their first readers, with the rows that
// their ids must fit, or raw.
std::vector<CategoricalFeature> Features(const TrainConfig& config);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CONFIG_TRAIN_CONFIG_H_
