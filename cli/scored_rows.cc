#include "cli/scored_rows.h"

#include <set>

#include "cli/show/numbers.h"
#include "data/batch_source.h"
#include "data/files/criteo_stream.h"
#include "data/read_ahead.h"
#include "serve/export/model_memory.h"
#include "serve/export/model_writer.h"
#include "train/checkpoint/saved_form.h"
#include "train/training_memory.h"

namespace tessera::cli {
namespace {

RowInputs InputsOf(const serve::ModelSpec& spec) {
  RowInputs inputs{.features = {}, .dense_in = spec.net.dense_in, .missing = spec.missing};
  std::set<std::string> read;
  for (const serve::TableSpec& table : spec.tables)
    for (const std::string& feature : table.features)
      if (read.insert(feature).second)
        inputs.features.push_back({feature, table.num_ids(), table.raw_ids.has_value()});
  return inputs;
}

}  // namespace

std::unique_ptr<DataSource> OpenScoredRows(const ScoredRows& rows, const RowInputs& inputs,
                                           const std::string& path) {
  if (inputs.dense_in != ClickRow::kIntegers)
    throw Error(Format("{}: it reads {} dense features, but Criteo rows have {}", path,
                       inputs.dense_in, ClickRow::kIntegers));
  auto stream = std::make_unique<CriteoStream>(CriteoFiles{rows.data, rows.skip_bad_lines},
                                               ParseRowRange(rows.range));
  return std::make_unique<ReadAhead>(std::make_unique<BatchSource>(
      std::move(stream), BatchBuilder(inputs.features, inputs.missing), rows.batch_size));
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
}

RowScorer::RowScorer(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config,
                     int threads) {
  Load(checkpoint, config, threads);
}

void RowScorer::Load(const Checkpoint& checkpoint, const std::optional<TrainConfig>& given,
                     int threads) {
  const TrainConfig config = serve::ReadConfig(checkpoint, given);
  inputs_ = {.features = Features(config),
             .dense_in = config.model.dense_in,
             .missing = config.data.missing};
  ctx_ = std::make_unique<Context>(ContextOptions{.threads = threads});
  trainer_ = std::make_unique<Trainer>(*ctx_, config);
  trainer_->Load(checkpoint);
}

std::vector<float> RowScorer::Score(const Batch& batch) {
  if (predictor_ != nullptr)
    return predictor_->Predict({.dense = batch.dense, .features = batch.features});
  return trainer_->Predict(batch).ToVector<float>();
}

MetricValues RowScorer::ScoreAll(DataSource& source) {
  ClickMetrics metrics;
  while (const auto batch = source.Next())
    metrics.Update({Score(*batch), batch->labels.span<float>(), {}});
  return metrics.Lifetime();
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
