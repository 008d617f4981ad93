#include "train/run/training_metrics.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "runtime/tensor.h"

namespace tessera {
namespace {

constexpr char kPrediction[] = "prediction", kLabel[] = "label", kWeight[] = "weight";

double WallTime() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

RecMetricsConfig ConfigOf(const TrainConfig& config) {
  return config.metrics ? *config.metrics : DefaultTrainingMetrics(ExamplesOfStep(config));
}

RecMetricModuleOptions OptionsOf(const Trainer& trainer, bool all_ranks) {
  const bool share = all_ranks && trainer.comm() != nullptr;
  return {.batch_size = ExamplesOfStep(trainer.config()),
          .ranks = share ? trainer.comm()->size() : 1};
}

void CheckInputs(const RecMetricModule& metrics) {
  for (const std::string& input : metrics.RequiredInputs())
    TESSERA_CHECK(input == kPrediction || input == kLabel || input == kWeight,
                  "metrics: they ask for '{}', but training has '{}', '{}' and '{}' only", input,
                  std::string_view(kPrediction), std::string_view(kLabel),
                  std::string_view(kWeight));
}

// A tensor that borrows the examples.
Tensor HostView(std::span<const float> values) {
  return Tensor::Borrow(const_cast<float*>(values.data()), {static_cast<int64_t>(values.size())},
                        DType::kF32);
}

// The weights of examples without weights.
Tensor Ones(const Tensor& labels) {
  const Tensor ones = Tensor::EmptyHost(labels.shape(), DType::kF32);
  std::ranges::fill(ones.span<float>(), 1.0f);
  return ones;
}

}  // namespace

RecMetricsConfig DefaultTrainingMetrics(int64_t batch_size) {
  const int64_t window = std::max<int64_t>(100'000, batch_size);
  RecMetricsConfig config{.tasks = {{.name = "click", .weight_name = kWeight}}};
  for (const char* name : {"ne", "calibration", "auc"})
    config.metrics.push_back({.name = name, .window_size = window});
  return config;
}

TrainingMetrics::TrainingMetrics(Context& ctx, const Trainer& trainer,
                                 const TrainingMetricsOutput& output)
    : ctx_(ctx),
      trainer_(trainer),
      comm_(trainer.comm()),
      config_(ConfigOf(trainer.config())),
      training_(config_, OptionsOf(trainer, true)) {
  CheckInputs(training_);
  const bool goes_on = trainer.progress().step > 0;
  if (!trainer.loaded_metrics().empty())
    training_.Load(trainer.loaded_metrics(), comm_ == nullptr ? 0 : comm_->rank());
  if (comm_ == nullptr || IsLeader(*comm_)) OpenFiles(output, goes_on || output.add_lines);
}

void TrainingMetrics::OpenFiles(const TrainingMetricsOutput& output, bool append) {
  if (!output.json_lines.empty()) files_.log.emplace(output.json_lines, append);
  if (output.tensorboard.empty()) return;
  const std::filesystem::path folder = output.tensorboard;
  files_.train_events.emplace((folder / "train").string());
  files_.eval_events.emplace((folder / "eval").string());
}

void TrainingMetrics::AddPending() {
  if (!pending_) return;
  const Tensor labels = pending_->labels.Wait();
  training_.Update({{kPrediction, pending_->predictions.Wait()},
                    {kLabel, labels},
                    {kWeight, pending_->weights ? pending_->weights->Wait() : Ones(labels)}});
  pending_.reset();
}

void TrainingMetrics::OnStep(const ScoredBatch& scored, int64_t epoch, int64_t step, double loss) {
  AddPending();
  pending_.emplace(HostCopy(ctx_, scored.predictions), HostCopy(ctx_, scored.labels));
  if (scored.weights) pending_->weights.emplace(ctx_, scored.weights);
  last_loss_ = loss;
  if ((training_.updates() + 1) % training_.compute_interval_steps() == 0)
    WriteTraining(epoch, step);
}

void TrainingMetrics::OnEpochEnd(int64_t epoch, int64_t step) {
  if (step != written_step_) WriteTraining(epoch, step);
}

void TrainingMetrics::WriteTraining(int64_t epoch, int64_t step) {
  AddPending();
  written_step_ = step;
  const MetricReport report = comm_ == nullptr ? training_.Compute() : training_.Compute(*comm_);
  Write(files_.train_events, {"train", epoch, step, WallTime(), last_loss_, report});
}

std::function<void(const ScoredExamples&)> TrainingMetrics::BeginEvaluation() {
  RecMetricsConfig config = config_;
  config.throughput.reset();
  evaluation_ = std::make_unique<RecMetricModule>(config, OptionsOf(trainer_, false));
  return [this](const ScoredExamples& examples) {
    const Tensor labels = HostView(examples.labels);
    evaluation_->Update(
        {{kPrediction, HostView(examples.predictions)},
         {kLabel, labels},
         {kWeight, examples.weights.empty() ? Ones(labels) : HostView(examples.weights)}});
  };
}

void TrainingMetrics::EndEvaluation(int64_t epoch, int64_t step, double loss) {
  if (evaluation_ != nullptr)
    Write(files_.eval_events, {"eval", epoch, step, WallTime(), loss, evaluation_->Compute()});
  evaluation_.reset();
}

void TrainingMetrics::Write(std::optional<EventFileWriter>& events, MetricsLine line) {
  if (files_.log) files_.log->Write(line);
  line.metrics["loss"] = line.loss;
  if (events) events->AddScalars(line.step, line.wall_time, line.metrics);
}

std::vector<NamedTensor> TrainingMetrics::State() {
  AddPending();
  return comm_ == nullptr ? training_.State() : training_.State(*comm_);
}

}  // namespace tessera
