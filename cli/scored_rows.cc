#include "cli/scored_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/config_flags.h"
#include "cli/show/log.h"
#include "cli/show/numbers.h"
#include "cli/show/row_file_warnings.h"
#include "data/files/data_identity.h"
#include "data/files/expand_paths.h"
#include "runtime/tensor.h"
#include "serve/export/model_memory.h"
#include "serve/export/model_writer.h"
#include "serve/raw_rows.h"
#include "serve/versions/newest_good.h"
#include "train/checkpoint/saved_form.h"
#include "train/run/row_counter.h"
#include "train/training_memory.h"

namespace tessera::cli {
namespace {

// A model of an older release does not say whose rows it reads: they are Criteo's.
RowInputs InputsOf(const serve::ModelSpec& spec) {
  RowInputs inputs{.data = spec.data.value_or(DataConfig()),
                   .features = serve::RowFeatures(spec),
                   .dense_in = spec.net.dense_in,
                   .weighted = spec.net.weighted};
  if (!spec.data) inputs.data.missing = spec.missing;
  return inputs;
}

bool CanLackLabels(const RowInputs& inputs) {
  return inputs.data.schema != nullptr && inputs.data.schema->is_text();
}

// Rows without their labels and weights, which only metrics need, and, unless a split goes by them,
// without times.
RowInputs WithoutLabels(RowInputs inputs, RowPart part, const std::string& path) {
  if (!CanLackLabels(inputs))
    throw Error(
        Format("{}: --no-labels is for data of format jsonl, csv or tsv; rows of {} always "
               "have a label",
               path, ToString(inputs.data.format)));
  DataSchema schema = *inputs.data.schema;
  schema.labels.clear();
  schema.weight.clear();
  const auto& split = inputs.data.split;
  if (part == RowPart::kAll || !split || split->by != SplitBy::kTime) schema.time.clear();
  inputs.data.schema = std::make_shared<const DataSchema>(std::move(schema));
  inputs.label_check = nullptr;
  return inputs;
}

// Returns what the command reads of the rows.
RowInputs ReadInputs(const ScoredRows& rows, const RowInputs& of_model, const std::string& path) {
  return rows.no_labels ? WithoutLabels(of_model, rows.part, path) : of_model;
}

// The rows; of an error that rows without labels would not be, says how these are scored.
std::unique_ptr<DataSets> OpenData(const RowInputs& inputs, const DataSelection& selection,
                                   const std::string& path) {
  try {
    return std::make_unique<DataSets>(inputs, selection);
  } catch (const Error& error) {
    if (!CanLackLabels(inputs) || inputs.data.schema->labels.empty()) throw;
    try {
      DataSets(WithoutLabels(inputs, selection.part, path), selection);
    } catch (const Error&) {
      throw error;
    }
    throw Error(Format("{}; tessera predict --no-labels scores rows without labels", error.what()));
  }
}

bool HasMetrics(TaskLoss loss) { return loss != TaskLoss::kInBatchSoftmax; }

std::string LossLine(const std::string& name, const NamedTaskValues& checkpoint,
                     const NamedTaskValues& model) {
  const bool clicks = model.loss == TaskLoss::kBce;
  const auto quality = [&](const NamedTaskValues& task) {
    return clicks ? task.values.clicks.auc : std::sqrt(task.values.mse);
  };
  const double before = quality(checkpoint), after = quality(model);
  return Format("{}: {}{} {} of the checkpoint, {} of the model: a loss of {}",
                Counted(model.values.clicks.examples, "row"), name, clicks ? "AUC" : "RMSE",
                Fixed(before, 6), Fixed(after, 6),
                Fixed(clicks ? before - after : after - before, 6));
}

}  // namespace

Flag AddPartFlag(Command command, const std::string& what, std::string& part) {
  return command
      .Add("--part", part,
           what +
               " the rows that the data.split of the training keeps for evaluation (eval) or "
               "trains on (train); default: all")
      .Value("train|eval|all");
}

void WarnOfScoredRows(const ScoredRows& rows, const RowInputs& of_model, const std::string& path) {
  WarnOfRepeatedFiles(rows.data);
  const RowInputs inputs = ReadInputs(rows, of_model, path);
  WarnOfAbsentKeys(inputs.data.schema.get(), inputs.features, rows.data);
}

std::unique_ptr<DataSource> OpenScoredRows(const ScoredRows& rows, const RowInputs& of_model,
                                           const std::string& path) {
  const RowInputs inputs = ReadInputs(rows, of_model, path);
  const DataFormat format = inputs.data.format;
  const bool criteo = format == DataFormat::kCriteo || format == DataFormat::kPlanted;
  if (criteo && inputs.dense_in != ClickRow::kIntegers && inputs.dense_in != 0)
    throw Error(Format("{}: it reads {} dense features, but Criteo rows have {}", path,
                       inputs.dense_in, ClickRow::kIntegers));
  const DataSelection selection{.files = rows.data,
                                .train_rows = ParseRowRange(rows.range, "--rows"),
                                .skip_bad_lines = rows.skip_bad_lines,
                                .threads = rows.threads,
                                .unknown_items = rows.unknown_items,
                                .part = rows.part};
  return OpenData(inputs, selection, path)->OpenInOrder(rows.batch_size);
}

RowScorer::RowScorer(const std::string& path, const std::optional<TrainConfig>& config,
                     const RowScorerOptions& options) {
  if (DetectForm(path) != SavedForm::kModelDirectory) {
    ctx_ = std::make_unique<Context>(
        ContextOptions{.device = options.device, .threads = options.threads});
    const Checkpoint checkpoint = ReadCheckpoint(path);
    if (options.there != nullptr) CheckScoringMemory(checkpoint, config, *options.there);
    Load(checkpoint, config);
    return;
  }
  if (options.device != Device::Cpu())
    throw Error(
        Format("--device {}: {} is {}, which is read on the CPU; a checkpoint can be "
               "evaluated on a GPU",
               ToString(options.device), path, Described(SavedForm::kModelDirectory)));
  serve::PredictorOptions served{.threads = options.threads};
  if (options.there != nullptr)
    served.accept = [examples = options.batch_size, there = *options.there](const auto& spec) {
      CheckServingMemory(spec, {.examples = examples}, there);
    };
  ctx_ = std::make_unique<Context>(ContextOptions{.threads = 1});
  try {
    predictor_ = std::make_unique<serve::Predictor>(path, served);
  } catch (const Error& error) {
    serve::ThrowWithNewestGood(path, error, served.accept);
    throw;
  }
  const serve::ModelSpec& spec = predictor_->model()->spec();
  inputs_ = InputsOf(spec);
  tasks_ = TasksOf(spec.net, inputs_.data);
  num_labels_ = LabelsNeeded(tasks_, inputs_.data);
  inputs_.label_check = LabelCheckOf(tasks_, inputs_.data);
}

RowScorer::RowScorer(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config,
                     int threads) {
  ctx_ = std::make_unique<Context>(ContextOptions{.threads = threads});
  Load(checkpoint, config);
}

void RowScorer::Load(const Checkpoint& checkpoint, const std::optional<TrainConfig>& given) {
  const TrainConfig config = serve::ReadConfig(checkpoint, given);
  tasks_ = TasksOf(config.model, config.data);
  num_labels_ = LabelsNeeded(tasks_, config.data);
  inputs_ = RowInputsOf(config);
  inputs_.label_check = LabelCheckOf(tasks_, inputs_.data);
  trainer_ = std::make_unique<Trainer>(*ctx_, config);
  trainer_->Load(checkpoint);
}

std::string RowScorer::training_data() const {
  return trainer_ == nullptr ? "" : trainer_->progress().data;
}

void RowScorer::CheckHasMetrics(const std::string& what) const {
  if (std::ranges::any_of(tasks_, [](const auto& task) { return HasMetrics(task.task.loss); }))
    return;
  throw Error(
      Format("{}: task '{}' is by {}, which has no metric of single rows; tessera predict "
             "writes its scores",
             what, tasks_.front().task.name, ToString(tasks_.front().task.loss)));
}

Tensor RowScorer::Score(const Batch& batch) {
  if (predictor_ == nullptr) return trainer_->Predict(batch);
  const Tensor answers = Tensor::From(
      *ctx_, predictor_->Predict(
                 {.dense = inputs_.dense_in == 0 ? batch.dense.Narrow(1, 0, 0) : batch.dense,
                  .features = batch.features}));
  return tasks_.size() == 1 ? answers : answers.Reshape({-1, std::ssize(tasks_)});
}

std::vector<TaskExamples> RowScorer::Measure(const Batch& batch, const Tensor& scores,
                                             EvaluationMeter& meter) const {
  CheckLabels(batch, num_labels_);
  return meter.Update(scores, Tensor(), batch);
}

EvaluationValues RowScorer::ScoreAll(DataSource& source, const OnScored& on_scored) {
  EvaluationMeter meter(tasks_);
  while (const auto batch = source.Next()) {
    const std::vector<TaskExamples> examples = Measure(*batch, Score(*batch), meter);
    if (on_scored) on_scored(examples);
  }
  EvaluationValues values = meter.Values();
  // Measure leaves tasks by in_batch_softmax out, so the sum of all losses is not known.
  const auto is_measured = [](const TrainTask& t) { return HasMetrics(t.task.loss); };
  if (!std::ranges::all_of(tasks_, is_measured)) values.loss = kNoValue;
  return values;
}

EvaluationValues RowScorer::Evaluate(DataSource& source, const OnScored& on_scored) {
  if (trainer_ == nullptr) return ScoreAll(source, on_scored);
  if (!on_scored) return trainer_->Evaluate(source);
  return trainer_->Evaluate(
      source, nullptr,
      [&](std::span<const TaskExamples> tasks, const Batch&) { on_scored(tasks); });
}

std::optional<TrainConfig> ConfigForModel(const std::string& model, const std::string& config,
                                          const std::vector<std::string>& settings) {
  if (config.empty()) return {};
  if (DetectForm(model) == SavedForm::kModelDirectory)
    throw Error(Format("--config is for a checkpoint; {} is {}, which says itself what it is",
                       model, Described(SavedForm::kModelDirectory)));
  return ReadConfigFile(config, settings);
}

void CheckReadAgain(const std::vector<std::string>& files, const std::string& why) {
  for (const std::string& file : files)
    if (!CanReadAgain(file == "-" ? "/dev/stdin" : file))
      throw Error(Format("--data {}: {}; a stream comes once: expected a file", file, why));
}

std::string NameOf(const ScoredRows& rows) {
  return rows.data.empty() ? "made-up rows" : rows.data.front();
}

void CheckAnyScored(const ScoredRows& rows, bool any, int64_t read) {
  if (any) return;
  const std::string among = (rows.range == ":" ? "" : " among --rows " + rows.range) +
                            (rows.part == RowPart::kAll ? "" : " of --part " + ToString(rows.part));
  throw Error(Format(
      "{}: {}", NameOf(rows),
      read == 0 ? "there are no rows to score" + among : NoneCountsText(read, "read" + among)));
}

void CheckScoringMemory(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config,
                        const MemoryThere& there) {
  CheckMemory("scoring rows with the checkpoint",
              PartsOf(MemoryOfTraining(serve::ReadConfig(checkpoint, config))), there,
              "The model alone that tessera quantize makes of it takes less (without --data of "
              "quantize, --checkpoint of predict). --memory-limit SIZE sets another limit");
}

void SayPart(const ScoredRows& rows, const RowInputs& of_model, const std::string& trained_on,
             const std::string& path) {
  if (rows.part == RowPart::kAll) return;
  const std::string part = ToString(rows.part);
  if (!of_model.data.split)
    throw Error(Format("--part {}: {} was trained without a data.split", part, path));
  const SplitOptions& split = *of_model.data.split;
  Note(Format("part {} of the split {}", part, split),
       {{"part", part}, {"split", ToString(split)}});
  if (const std::string found = FoundTimeText(split); !found.empty()) Note(found);
  if (!GoesByOtherRows(split) || trained_on.empty()) return;
  const DataIdentity was = DataIdentityFromText(trained_on), is = IdentityOf(rows.data, {});
  if (!std::ranges::equal(was.paths, is.paths,
                          [](const auto& a, const auto& b) { return a.SameContent(b); }))
    Warn(
        Format("--data are other files than {} was trained on, and its data.split goes by all "
               "rows: part {} may have rows of the other part",
               path, part));
}

void SayAllRows(const ScoredRows& rows, bool is_split) {
  if (is_split && rows.part == RowPart::kAll)
    std::printf(
        "these are all rows: --part eval leaves out those that the training's data.split trains "
        "on\n");
}

std::string QualityLossText(const EvaluationValues& checkpoint, const EvaluationValues& model) {
  std::string text;
  for (size_t t = 0; t < model.tasks.size(); ++t) {
    const NamedTaskValues& task = model.tasks[t];
    if (!HasMetrics(task.loss)) continue;
    if (!text.empty()) text += "\n";
    text += LossLine(model.tasks.size() > 1 ? task.task + ": " : "", checkpoint.tasks[t], task);
  }
  return text;
}

}  // namespace tessera::cli
