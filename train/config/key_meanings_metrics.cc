// The keys under "metrics".
#include "train/config/key_meanings.h"

namespace tessera::internal {
namespace {

constexpr KeyMeaning kMetricMeanings[] = {
    {"metrics", "The metrics of --metrics and --tensorboard, as TorchRec's MetricsConfig."},
    {"metrics.rec_tasks",
     "The tasks. Without it: those of the model; of a model without tasks, beside rec_metrics, "
     "TorchRec's DefaultTask."},
    {"metrics.rec_tasks[].name", "The name of the task."},
    {"metrics.rec_tasks[].label_name", "The tensor of the labels: label_TASK."},
    {"metrics.rec_tasks[].prediction_name", "The tensor of the predictions: prediction_TASK."},
    {"metrics.rec_tasks[].weight_name", "The tensor of the weights: weight_TASK. Without it: 1."},
    {"metrics.rec_tasks[].session_name",
     "What tells sessions apart, for metrics of sessions: a feature, by its first id of a row, a "
     "label of the data, or a tensor of a task. Rows that have none are left out."},
    {"metrics.rec_tasks[].tensor_name", "The tensor that tensor_weighted_avg averages."},
    {"metrics.rec_tasks[].is_negative_task", "Whether ndcg is that of 1 − prediction, 1 − label."},
    {"metrics.rec_metrics",
     "The metrics, {name: options, …}. Without it: the default ones, as without \"metrics\"; {}: "
     "none. A training has all of TorchRec's but gauc and multiclass_recall."},
    {"metrics.rec_metrics.*", "The options of one metric; {} has all defaults."},
    {"metrics.rec_metrics.*.tasks", "Names of the tasks that it is computed for. Without it: all."},
    {"metrics.rec_metrics.*.window_size",
     "Examples of the window, shared by all ranks; it has at most "
     "1,000 batches."},
    {"metrics.rec_metrics.*.include_logloss",
     "Whether the log loss is reported, too: in bits, as TorchRec has it."},
    {"metrics.rec_metrics.*.allow_missing_label_with_zero_weight",
     "Whether the value is 1e-12 rather than NaN while all weights are 0."},
    {"metrics.rec_metrics.*.apply_bin", "Whether labels from 0.039 on are 1, and others 0."},
    {"metrics.rec_metrics.*.num_bins", "Bins of predictions over the lifetime."},
    {"metrics.rec_metrics.*.grouping_keys", "What tells groups apart, as session_name."},
    {"metrics.rec_metrics.*.cast_keys_to_int",
     "Whether fractions of labels are cut off; else they are an error."},
    {"metrics.rec_metrics.*.recalibration_coefficient", "The coefficient, above 0."},
    {"metrics.rec_metrics.*.include_r_squared", "Whether R² is reported, too."},
    {"metrics.rec_metrics.*.threshold", "Predictions above it count as positive."},
    {"metrics.rec_metrics.*.grouped_auc", "Whether it is computed within groups."},
    {"metrics.rec_metrics.*.grouped_auprc", "Whether it is computed within groups."},
    {"metrics.rec_metrics.*.grouped_rauc", "Whether it is computed within groups."},
    {"metrics.rec_metrics.*.exponential_gain", "Whether the gain is 2^label − 1."},
    {"metrics.rec_metrics.*.k", "Ranks that count. -1: all."},
    {"metrics.rec_metrics.*.report_ndcg_as_decreasing_curve", "Whether 1 − NDCG is reported."},
    {"metrics.rec_metrics.*.remove_single_length_sessions",
     "Whether sessions of one example are left out."},
    {"metrics.rec_metrics.*.scale_by_weights_tensor",
     "Whether weights scale labels and predictions."},
    {"metrics.rec_metrics.*.number_of_classes", "Classes of labels. It must be given."},
    {"metrics.rec_metrics.*.num_labels", "Labels of an example, 1 to 24."},
    {"metrics.rec_metrics.*.label_names", "Their names. Without it: label_0, label_1, …"},
    {"metrics.rec_metrics.*.num_groups", "Groups."},
    {"metrics.rec_metrics.*.target_precision", "The precision that is to be reached."},
    {"metrics.rec_metrics.*.top_threshold", "Ranks of a session that count. It must be given."},
    {"metrics.rec_metrics.*.run_ranking_of_labels", "Whether labels are ranked, too."},
    {"metrics.rec_metrics.*.warmup_steps", "Steps that are not measured."},
    {"metrics.rec_metrics.*.tensors", "Tensors of the model's output whose values are reported."},
    {"metrics.throughput_metric", "The throughput in examples a second. null: none."},
    {"metrics.throughput_metric.window_seconds", "Seconds of the window."},
    {"metrics.throughput_metric.warmup_steps", "Steps that are not measured."},
    {"metrics.throughput_metric.batch_size_stages", "Batch sizes that change, for the report."},
    {"metrics.throughput_metric.batch_size_stages[].batch_size", "Examples of a step."},
    {"metrics.throughput_metric.batch_size_stages[].max_iters",
     "The last step of the stage. The last stage has none."},
    {"metrics.compute_interval_steps", "Steps between two computations."},
    {"metrics.min_compute_interval",
     "The least seconds between two computations; compute_interval_steps is fitted to them."},
    {"metrics.max_compute_interval", "The most seconds between two computations. Without it: any."},
    {"metrics.should_validate_update", "Whether batches all of whose weights are 0 are left out."},
};

}  // namespace

std::span<const KeyMeaning> MeaningsOfMetrics() { return kMetricMeanings; }

}  // namespace tessera::internal
