#include "cli/scored_rows.h"

#include <set>

#include "cli/show/numbers.h"
#include "data/batch_source.h"
#include "data/files/criteo_stream.h"
#include "data/files/expand_paths.h"
#include "data/files/multi_hot_rows.h"
#include "data/read_ahead.h"
#include "data/row_table_source.h"
#include "data/rows/text_row_source.h"
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

// The rows of a user's own files.
std::unique_ptr<DataSource> OpenOwnRows(const ScoredRows& rows, const RowInputs& inputs) {
  const std::vector<std::string> paths = ExpandPaths(rows.data);
  const RowRange range = ParseRowRange(rows.range);
  if (inputs.schema->is_text())
    return std::make_unique<TextRowSource>(
        std::make_shared<const RowRules>(*inputs.schema, inputs.features),
        RowFiles{.paths = paths, .skip_bad_lines = rows.skip_bad_lines, .threads = rows.threads},
        TextRowSourceOptions{.batch_size = rows.batch_size, .range = range});
  const auto days =
      std::make_shared<const MultiHotRows>(MultiHotDays(paths), *inputs.schema, inputs.features);
  if (days->dense_columns() != inputs.dense_in)
    throw Error(Format("{}: expected {} numbers a row, the model's dense_in, got {}", paths.front(),
                       inputs.dense_in, days->dense_columns()));
  return std::make_unique<RowTableSource>(
      days, RowTableSourceOptions{.batch_size = rows.batch_size, .range = range});
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
  if (inputs.schema != nullptr) return std::make_unique<ReadAhead>(OpenOwnRows(rows, inputs));
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
  CheckOneTask(predictor_->model()->spec().net, nullptr, path);
  inputs_ = InputsOf(predictor_->model()->spec());
}

RowScorer::RowScorer(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config,
                     int threads) {
  Load(checkpoint, config, threads);
}

void RowScorer::Load(const Checkpoint& checkpoint, const std::optional<TrainConfig>& given,
                     int threads) {
  const TrainConfig config = serve::ReadConfig(checkpoint, given);
  CheckOneTask(config.model, config.data.schema, checkpoint.path);
  inputs_ = {.features = Features(config),
             .dense_in = config.model.dense_in,
             .missing = config.data.missing,
             .schema = config.data.schema};
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
