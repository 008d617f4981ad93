#include "cli/scored_rows.h"

#include "cli/show/numbers.h"
#include "serve/export/model_memory.h"
#include "serve/export/model_writer.h"
#include "serve/raw_rows.h"
#include "train/checkpoint/saved_form.h"
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

// Rows are scored by one task of clicks, whose label is the only one, and in every row.
void CheckOneTask(const RankingNetConfig& net, const std::shared_ptr<const DataSchema>& schema,
                  const std::string& path) {
  if (net.num_tasks() != 1 || net.loss_of(0) != TaskLoss::kBce)
    throw Error(
        Format("{}: model.tasks: {} tasks, the first by {}: rows are scored by one task, by bce; "
               "tessera serve answers all tasks by their names",
               path, net.num_tasks(), ToString(net.loss_of(0))));
  if (schema != nullptr && schema->labels.size() > 1)
    throw Error(Format("{}: data.labels: rows are scored by their only label, but there are {}",
                       path, schema->labels.size()));
}

}  // namespace

std::unique_ptr<DataSource> OpenScoredRows(const ScoredRows& rows, const RowInputs& inputs,
                                           const std::string& path) {
  const DataFormat format = inputs.data.format;
  const bool criteo = format == DataFormat::kCriteo || format == DataFormat::kPlanted;
  if (criteo && inputs.dense_in != ClickRow::kIntegers && inputs.dense_in != 0)
    throw Error(Format("{}: it reads {} dense features, but Criteo rows have {}", path,
                       inputs.dense_in, ClickRow::kIntegers));
  const DataSets data(inputs, {.files = rows.data,
                               .train_rows = ParseRowRange(rows.range),
                               .skip_bad_lines = rows.skip_bad_lines,
                               .threads = rows.threads});
  return data.OpenInOrder(rows.batch_size);
}

RowScorer::RowScorer(const std::string& path, const std::optional<TrainConfig>& config,
                     const RowScorerOptions& options) {
  if (DetectForm(path) != SavedForm::kModelDirectory) {
    const Checkpoint checkpoint = ReadCheckpoint(path);
    if (options.there != nullptr) CheckScoringMemory(checkpoint, config, *options.there);
    Load(checkpoint, config, options.threads);
    return;
  }
  serve::PredictorOptions served{.threads = options.threads};
  if (options.there != nullptr)
    served.accept = [examples = options.batch_size, there = *options.there](const auto& spec) {
      CheckServingMemory(spec, {.examples = examples}, there);
    };
  predictor_ = std::make_unique<serve::Predictor>(path, served);
  inputs_ = InputsOf(predictor_->model()->spec());
  CheckOneTask(predictor_->model()->spec().net, inputs_.data.schema, path);
}

RowScorer::RowScorer(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config,
                     int threads) {
  Load(checkpoint, config, threads);
}

void RowScorer::Load(const Checkpoint& checkpoint, const std::optional<TrainConfig>& given,
                     int threads) {
  const TrainConfig config = serve::ReadConfig(checkpoint, given);
  CheckOneTask(config.model, config.data.schema, checkpoint.path);
  inputs_ = RowInputsOf(config);
  ctx_ = std::make_unique<Context>(ContextOptions{.threads = threads});
  trainer_ = std::make_unique<Trainer>(*ctx_, config);
  trainer_->Load(checkpoint);
}

std::vector<float> RowScorer::Score(const Batch& batch) {
  if (predictor_ != nullptr)
    return predictor_->Predict(
        {.dense = inputs_.dense_in == 0 ? batch.dense.Narrow(1, 0, 0) : batch.dense,
         .features = batch.features});
  return trainer_->Predict(batch).ToVector<float>();
}

MetricValues RowScorer::ScoreAll(DataSource& source) {
  ClickMetrics metrics;
  while (const auto batch = source.Next())
    metrics.Update({Score(*batch), batch->labels.span<float>(), WeightsOf(*batch)});
  return metrics.Lifetime();
}

std::span<const float> WeightsOf(const Batch& batch) {
  return batch.weights ? batch.weights.span<float>() : std::span<float>();
}

void CheckAnyScored(const ScoredRows& rows, int64_t examples) {
  if (examples > 0) return;
  throw Error(Format("{}: there are no rows to score{}", rows.data.front(),
                     rows.range == ":" ? "" : " among --rows " + rows.range));
}

void CheckScoringMemory(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config,
                        const MemoryThere& there) {
  CheckMemory("scoring rows with the checkpoint",
              PartsOf(MemoryOfTraining(serve::ReadConfig(checkpoint, config))), there,
              "The model alone that tessera quantize makes of it takes less (without --data of "
              "quantize, --checkpoint of predict). --memory-limit SIZE sets another limit");
}

std::string AucLossText(const MetricValues& checkpoint, const MetricValues& model) {
  return Format("{} rows: AUC {} of the checkpoint, {} of the model: a loss of {}",
                WithCommas(static_cast<double>(model.examples)), Fixed(checkpoint.auc, 6),
                Fixed(model.auc, 6), Fixed(checkpoint.auc - model.auc, 6));
}

}  // namespace tessera::cli
