#ifndef TESSERA_TRAIN_RUN_TRAINING_METRICS_H_
#define TESSERA_TRAIN_RUN_TRAINING_METRICS_H_
// The metrics of a training as it goes: of the batches trained on, each as it was predicted before
// it was learned, and of evaluations. As lines of JSON (metrics_log.h), and as TensorBoard's
// scalars in the folders train and eval, with the loss as "loss".
//
// A model without tasks has one, clicks, with what rows hold: "prediction", "label" and "weight",
// which is 1 where a batch has none. Each task t of a model has "prediction_t", "label_t" and
// "weight_t"; those of the first have the short names, too. Each has the rows that count for the
// task alone; the throughput counts all rows. On ranks every rank makes the same calls; rank 0
// writes. Sessions and groups: metric_keys.h.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metrics/log/event_file.h"
#include "metrics/log/metrics_log.h"
#include "metrics/rec_metric_module.h"
#include "runtime/context.h"
#include "runtime/staging.h"
#include "runtime/tensor.h"
#include "train/run/metric_keys.h"
#include "train/run/training_report.h"
#include "train/trainer.h"

namespace tessera {

// Returns the metrics of a configuration without "metrics": ne, calibration and auc of the last
// 100,000 examples, of tasks by mse the mse, and the throughput.
RecMetricsConfig DefaultTrainingMetrics(const TrainConfig& config);

// Throws Error for metrics that a training of the configuration cannot have: of tensors that there
// are not, or of one task's rows beside another's, or with a window below a batch.
void CheckTrainingMetrics(const TrainConfig& config);

struct TrainingMetricsOutput {
  std::string json_lines = {};   // a file; "": none
  std::string tensorboard = {};  // a folder; "": none
  bool add_lines = false;        // to the file that is there, also where training begins
  bool any() const { return !json_lines.empty() || !tensorboard.empty(); }
};

class TrainingMetrics {
 public:
  // Goes on with what the trainer's checkpoint remembered, in which case lines are added to the
  // file that is there. Throws Error for metrics that ask for what rows do not hold, and files that
  // cannot be written. The trainer outlives this.
  TrainingMetrics(Context& ctx, const Trainer& trainer, const TrainingMetricsOutput& output);
  TrainingMetrics(const TrainingMetrics&) = delete;
  TrainingMetrics& operator=(const TrainingMetrics&) = delete;

  // Adds predictions of a step's batch; writes, if it is time. Nothing waits for a GPU before
  // the next step, unless metrics have keys.
  void OnStep(const std::vector<ScoredBatch>& scored, int64_t epoch, int64_t step, double loss);
  // Writes the last step, unless it was written.
  void OnEpochEnd(int64_t epoch, int64_t step);

  // For Trainer::Evaluate. The time until EndEvaluation is left out of the training's throughput.
  Trainer::OnScored BeginEvaluation();
  // Writes, with the loss of the evaluation.
  void EndEvaluation(const EvaluationPoint& at, double loss);

  // Whether the file of lines has that of this evaluation. Every rank calls.
  bool HasLineSync(const EvaluationPoint& at) const;

  // For Trainer::Save. Every rank calls.
  std::vector<NamedTensor> State();

 private:
  // A task's batch on its way to the host.
  struct Pending {
    HostCopy predictions, labels, weights;
    std::optional<HostCopy> counts;
  };
  struct Files {
    std::optional<EventFileWriter> train_events, eval_events;
    std::optional<MetricsLog> log;
  };

  // The clock of the training's metrics, which stands still in evaluations.
  double TrainingSeconds() const;
  // Adds a task's examples under the names that metrics know them by.
  void AddTask(size_t task, const Tensor& predictions, const Tensor& labels, const Tensor& weights,
               ModelOutput& output) const;
  void OpenFiles(const TrainingMetricsOutput& output, bool append);
  void AddPending();
  void WriteTraining(int64_t epoch, int64_t step);
  void Write(std::optional<EventFileWriter>& events, MetricsLine line);

  Context& ctx_;
  const Trainer& trainer_;
  Communicator* comm_;
  std::string path_;  // of the file of lines
  RecMetricsConfig config_;
  std::vector<MetricKeys> keys_;                  // that it asks for
  double evaluating_ = 0, evaluation_began_ = 0;  // seconds
  RecMetricModule training_;
  std::unique_ptr<RecMetricModule> evaluation_;
  std::vector<Pending> pending_;                       // one a task
  std::vector<std::vector<int64_t>> pending_columns_;  // of the same batch, one a key
  std::optional<double> unwritten_loss_;               // of the last step, where no line has it yet
  Files files_;                                        // of rank 0
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_TRAINING_METRICS_H_
