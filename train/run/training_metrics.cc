#include "train/run/training_metrics.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <utility>

#include "comm/leader.h"
#include "metrics/state/metric_state.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/base/seconds.h"
#include "runtime/tensor.h"
#include "train/config/evaluation_json.h"

namespace tessera {
namespace {

using internal::SteadySeconds;
using internal::WallTime;

constexpr char kPrediction[] = "prediction", kLabel[] = "label", kWeight[] = "weight";
// The labels of all rows, also of those that do not count.
constexpr char kEveryRow[] = "every row";
// The loss of the last step, in a checkpoint's state of metrics where no line has it yet.
constexpr char kUnwrittenLoss[] = "metrics.0.unwritten_loss";

RecMetricsConfig ConfigOf(const TrainConfig& config) {
  return config.metrics ? *config.metrics : DefaultTrainingMetrics(config);
}

RecMetricModuleOptions OptionsOf(const Trainer& trainer, bool all_ranks, Clock clock = {}) {
  const bool share = all_ranks && trainer.comm() != nullptr;
  return {.batch_size = ExamplesOfStep(trainer.config()),
          .ranks = share ? trainer.comm()->size() : 1,
          .clock = std::move(clock),
          .throughput_input = kEveryRow};
}

void CheckKeys(const std::vector<MetricKeys>& keys, const TrainConfig& config) {
  std::vector<std::string> columns = LabelNames(config.data);
  for (const CategoricalFeature& feature : Features(config)) columns.push_back(feature.name);
  for (const MetricKeys& key : keys)
    if (!TaskWith(key.source, config.model.tasks) && std::ranges::count(columns, key.source) == 0)
      throw Error(
          Format("metrics: '{}' is to tell sessions or groups apart; expected a label or a feature "
                 "of the data, of which there are {}, or a tensor of a task, as label_TASK",
                 key.source, internal::Joined(columns)));
}

// A task has one prediction of a row.
void CheckClasses(const RecMetricsConfig& metrics) {
  for (const RecMetricDef& def : metrics.metrics)
    if (def.name == "multiclass_recall" && def.options.number_of_classes > 1)
      throw Error(Format(
          "metrics.rec_metrics: multiclass_recall of {} classes needs as many predictions of "
          "a row, but a task of a training has one",
          def.options.number_of_classes));
}

void CheckInputs(const RecMetricModule& metrics, const std::vector<MetricKeys>& keys,
                 const TrainConfig& config) {
  std::set<std::string> there = {kPrediction, kLabel, kWeight};
  for (const TaskConfig& task : config.model.tasks) {
    const RecTask names = RecTaskOf(task.name);
    there.insert({names.prediction_name, names.label_name, names.weight_name});
  }
  std::string list;
  for (const std::string& name : there) list += (list.empty() ? "'" : ", '") + name + "'";
  for (const MetricKeys& key : keys) there.insert(key.tensor);
  for (const std::string& input : metrics.RequiredInputs())
    TESSERA_CHECK(input == kEveryRow || there.contains(input),
                  "metrics: they ask for '{}', but training has {} only", input, list);
}

// The tensors of one task are of its rows, which others need not have.
void CheckTasks(const RecMetricsConfig& metrics, const std::vector<TaskConfig>& tasks) {
  for (size_t i = 0; i < metrics.tasks.size(); ++i) {
    const RecTask& task = metrics.tasks[i];
    const std::optional<size_t> of_label = TaskWith(task.label_name, tasks);
    const std::pair<const char*, const std::string&> others[] = {
        {"prediction_name", task.prediction_name},
        {"weight_name", task.weight_name},
        {"tensor_name", task.tensor_name}};
    for (const auto& [key, name] : others) {
      const std::optional<size_t> other = TaskWith(name, tasks);
      if (!of_label || !other || *of_label == *other) continue;
      throw Error(Format(
          "metrics.rec_tasks[{}] ('{}'): its label_name '{}' is of task '{}', its {} '{}' of task "
          "'{}', for which other rows count: expected names of one task",
          i, task.name, task.label_name, tasks[*of_label].name, key, name, tasks[*other].name));
    }
  }
}

// A tensor that borrows the examples.
Tensor HostView(std::span<const float> values) {
  return Tensor::Borrow(const_cast<float*>(values.data()), {static_cast<int64_t>(values.size())},
                        DType::kF32);
}

// The values of the rows that count.
Tensor Counted(const Tensor& values, const Tensor& counts) {
  if (!counts) return values;
  const std::span<const float> all = values.span<float>(), counted = counts.span<float>();
  std::vector<float> kept;
  for (size_t i = 0; i < all.size(); ++i)
    if (counted[i] > 0) kept.push_back(all[i]);
  return kept.size() == all.size() ? values : HostTensor(kept);
}

// The rows that count.
std::vector<int64_t> RowsCounted(const Tensor& counts, int64_t size) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < size; ++row)
    if (!counts || counts.span<float>()[static_cast<size_t>(row)] > 0) rows.push_back(row);
  return rows;
}

// The weights of examples without weights.
Tensor Ones(const Tensor& labels) {
  const Tensor ones = Tensor::EmptyHost(labels.shape(), DType::kF32);
  std::ranges::fill(ones.span<float>(), 1.0f);
  return ones;
}

// Whether a file has the whole line of this evaluation, as MetricsLog writes it.
bool HasEvaluation(const std::string& path, const EvaluationPoint& at) {
  const std::string begin =
      Format("{{\"phase\":\"eval\",\"epoch\":{},\"step\":{},", at.epoch, at.step);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // a stream would wait
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(begin) && line.ends_with('}')) return true;
  return false;
}

}  // namespace

RecMetricsConfig DefaultTrainingMetrics(const TrainConfig& config) {
  return internal::DefaultMetrics(config);
}

void CheckTrainingMetrics(const TrainConfig& config) {
  RecMetricsConfig metrics = ConfigOf(config);
  CheckTasks(metrics, config.model.tasks);
  CheckClasses(metrics);
  const std::vector<MetricKeys> keys = TakeKeys(metrics, config);
  CheckKeys(keys, config);
  CheckInputs(RecMetricModule(
                  metrics, {.batch_size = ExamplesOfStep(config), .throughput_input = kEveryRow}),
              keys, config);
}

TrainingMetrics::TrainingMetrics(Context& ctx, const Trainer& trainer,
                                 const TrainingMetricsOutput& output)
    : ctx_(ctx),
      trainer_(trainer),
      comm_(trainer.comm()),
      path_(output.json_lines),
      config_(ConfigOf(trainer.config())),
      keys_(TakeKeys(config_, trainer.config())),
      training_(config_, OptionsOf(trainer, true, [this] { return TrainingSeconds(); })) {
  CheckTrainingMetrics(trainer.config());
  const bool goes_on = trainer.progress().step > 0;
  const std::vector<NamedTensor>& loaded = trainer.loaded_metrics();
  if (!loaded.empty()) training_.Load(loaded, comm_ == nullptr ? 0 : comm_->rank());
  const auto unwritten =
      std::ranges::find(loaded, std::string_view(kUnwrittenLoss), &NamedTensor::name);
  if (unwritten != loaded.end()) unwritten_loss_ = unwritten->tensor.ToVector<double>().at(0);
  if (comm_ == nullptr || IsLeader(*comm_)) OpenFiles(output, goes_on || output.add_lines);
}

void TrainingMetrics::OpenFiles(const TrainingMetricsOutput& output, bool append) {
  if (!output.json_lines.empty()) files_.log.emplace(output.json_lines, append);
  if (output.tensorboard.empty()) return;
  const std::filesystem::path folder = output.tensorboard;
  const int64_t first_step = trainer_.progress().step + 1;
  files_.train_events.emplace((folder / "train").string(), first_step);
  files_.eval_events.emplace((folder / "eval").string(), first_step);
}

void TrainingMetrics::AddTask(size_t task, const Tensor& predictions, const Tensor& labels,
                              const Tensor& weights, ModelOutput& output) const {
  if (task == 0) output.insert({{kPrediction, predictions}, {kLabel, labels}, {kWeight, weights}});
  if (trainer_.config().model.tasks.empty()) return;
  const RecTask names = RecTaskOf(trainer_.config().model.tasks[task].name);
  output.insert({{names.prediction_name, predictions},
                 {names.label_name, labels},
                 {names.weight_name, weights}});
}

void TrainingMetrics::AddPending() {
  if (pending_.empty()) return;
  ModelOutput output;
  std::vector<std::vector<int64_t>> rows;
  for (size_t t = 0; t < pending_.size(); ++t) {
    const Tensor counts = pending_[t].counts ? pending_[t].counts->Wait() : Tensor();
    if (!keys_.empty()) rows.push_back(RowsCounted(counts, pending_[t].labels.Wait().dim(0)));
    const auto column = [&](const HostCopy& all) { return Counted(all.Wait(), counts); };
    AddTask(t, column(pending_[t].predictions), column(pending_[t].labels),
            column(pending_[t].weights), output);
  }
  AddKeys(keys_, trainer_.config().model.tasks, rows, pending_columns_, output);
  output.insert({kEveryRow, pending_.front().labels.Wait()});
  training_.Update(output);
  pending_.clear();
}

void TrainingMetrics::OnStep(const std::vector<ScoredBatch>& scored, int64_t epoch, int64_t step,
                             double loss) {
  AddPending();
  pending_columns_ = ReadColumns(ctx_, scored.front().batch, keys_, trainer_.config());
  for (const ScoredBatch& task : scored) {
    pending_.push_back({HostCopy(ctx_, task.predictions),
                        HostCopy(ctx_, task.labels),
                        HostCopy(ctx_, task.weights),
                        {}});
    if (task.counts) pending_.back().counts.emplace(ctx_, task.counts);
  }
  unwritten_loss_ = loss;
  if ((training_.updates() + 1) % training_.compute_interval_steps() == 0)
    WriteTraining(epoch, step);
}

void TrainingMetrics::OnEpochEnd(int64_t epoch, int64_t step) {
  if (unwritten_loss_) WriteTraining(epoch, step);
}

void TrainingMetrics::WriteTraining(int64_t epoch, int64_t step) {
  AddPending();
  const MetricReport report = comm_ == nullptr ? training_.Compute() : training_.Compute(*comm_);
  Write(files_.train_events, {.phase = "train",
                              .epoch = epoch,
                              .step = step,
                              .epoch_fraction = {},
                              .wall_time = WallTime(),
                              .loss = *std::exchange(unwritten_loss_, std::nullopt),
                              .metrics = report,
                              .memory_bytes = MemoryOfProcess().bytes});
}

double TrainingMetrics::TrainingSeconds() const { return SteadySeconds() - evaluating_; }

Trainer::OnScored TrainingMetrics::BeginEvaluation() {
  evaluation_began_ = SteadySeconds();
  RecMetricsConfig config = config_;
  config.throughput.reset();
  evaluation_ = std::make_unique<RecMetricModule>(config, OptionsOf(trainer_, false));
  return [this, host = std::make_shared<Context>(ContextOptions{.threads = 1})](
             std::span<const TaskExamples> tasks, const Batch& batch) {
    ModelOutput output;
    std::vector<std::vector<int64_t>> rows;
    for (size_t t = 0; t < tasks.size(); ++t) {
      const Tensor labels = HostView(tasks[t].labels);
      AddTask(t, HostView(tasks[t].predictions), labels,
              tasks[t].weights.empty() ? Ones(labels) : HostView(tasks[t].weights), output);
      rows.push_back(tasks[t].rows);
    }
    const TrainConfig& config = trainer_.config();
    AddKeys(keys_, config.model.tasks, rows, ReadColumns(*host, batch, keys_, config), output);
    evaluation_->Update(output);
  };
}

void TrainingMetrics::EndEvaluation(const EvaluationPoint& at, double loss) {
  if (evaluation_ != nullptr)
    Write(files_.eval_events, {.phase = "eval",
                               .epoch = at.epoch,
                               .step = at.step,
                               .epoch_fraction = at.fraction,
                               .wall_time = WallTime(),
                               .loss = loss,
                               .metrics = evaluation_->Compute(),
                               .memory_bytes = MemoryOfProcess().bytes});
  evaluation_.reset();
  evaluating_ += SteadySeconds() - evaluation_began_;
}

void TrainingMetrics::Write(std::optional<EventFileWriter>& events, MetricsLine line) {
  if (files_.log) files_.log->Write(line);
  line.metrics["loss"] = line.loss;
  if (events) events->AddScalars(line.step, line.wall_time, line.metrics);
}

bool TrainingMetrics::HasLineSync(const EvaluationPoint& at) const {
  const auto has = [&] { return HasEvaluation(path_, at); };
  if (comm_ == nullptr) return has();
  return InvokeOnRankAndBroadcastResult(*comm_, 0, "lines of metrics", has);
}

std::vector<NamedTensor> TrainingMetrics::State() {
  AddPending();
  std::vector<NamedTensor> state = comm_ == nullptr ? training_.State() : training_.State(*comm_);
  if (unwritten_loss_)
    state.push_back({kUnwrittenLoss, HostTensor(std::vector<double>{*unwritten_loss_})});
  return state;
}

}  // namespace tessera
