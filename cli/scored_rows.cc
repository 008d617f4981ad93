#include "cli/scored_rows.h"

#include "cli/numbers.h"
#include "serve/model_writer.h"
#include "train/data/batch_source.h"
#include "train/data/criteo_stream.h"
#include "train/data/read_ahead.h"
#include "train/trainer.h"
#include "train/training_memory.h"

namespace tessera::cli {

std::unique_ptr<DataSource> OpenScoredRows(const ScoredRows& rows, const serve::ModelSpec& spec,
                                           const std::string& directory) {
  std::vector<CategoricalFeature> features;
  for (const serve::TableSpec& table : spec.tables)
    for (const std::string& feature : table.features)
      features.push_back({feature, table.num_ids(), table.raw_ids.has_value()});
  if (spec.net.dense_in != ClickRow::kIntegers)
    throw Error(Format("{}: it reads {} dense features, but Criteo rows have {}", directory,
                       spec.net.dense_in, ClickRow::kIntegers));
  auto stream = std::make_unique<CriteoStream>(CriteoFiles{rows.data, rows.skip_bad_lines},
                                               ParseRowRange(rows.range));
  return std::make_unique<ReadAhead>(std::make_unique<BatchSource>(
      std::move(stream), BatchBuilder(features, spec.missing), rows.batch_size));
}

MetricValues ScoreRows(serve::Predictor& predictor, DataSource& source) {
  ClickMetrics metrics;
  while (const auto batch = source.Next())
    metrics.Update({predictor.Predict({.dense = batch->dense, .features = batch->features}),
                    batch->labels.span<float>(),
                    {}});
  return metrics.Lifetime();
}

void CheckScoringMemory(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config,
                        const MemoryThere& there) {
  CheckMemory("scoring rows with the checkpoint",
              PartsOf(MemoryOfTraining(serve::ConfigOf(checkpoint, config))), there,
              "The model alone takes less (without --data of quantize, --checkpoint of predict). "
              "--memory-limit SIZE sets another limit");
}

MetricValues ScoreByCheckpoint(const Checkpoint& checkpoint,
                               const std::optional<TrainConfig>& config, DataSource& source,
                               int threads) {
  const TrainConfig model = serve::ConfigOf(checkpoint, config);
  Context ctx({.threads = threads});
  Trainer trainer(ctx, model);
  trainer.Load(checkpoint);
  return trainer.Evaluate(source);
}

std::string AucLossText(const MetricValues& checkpoint, const MetricValues& model) {
  return Format("{} rows: AUC {} of the checkpoint, {} of the model: a loss of {}",
                WithCommas(static_cast<double>(model.examples)), Fixed(checkpoint.auc, 6),
                Fixed(model.auc, 6), Fixed(checkpoint.auc - model.auc, 6));
}

}  // namespace tessera::cli
