#include "train/config/schema_checks.h"

#include <algorithm>

namespace tessera::internal {
namespace {

// Raw ids find a row each, so that a table of them may have any rows.
void CheckRows(const DataSchema& schema, const EmbeddingBagConfig& table) {
  for (const std::string& name : table.feature_names) {
    const FeatureEntry entry = schema.Feature(name);
    const std::optional<int64_t> needed = entry.RowsNeeded();
    if (needed && *needed > table.num_embeddings)
      throw Error(Format("feature '{}': its {} {} {} rows, table '{}' has {}", name, entry.ids,
                         entry.ids == IdKind::kVocabulary ? "needs" : "need", *needed, table.name,
                         table.num_embeddings));
  }
}

void CheckWeights(const TrainConfig& config, const DataSchema& schema) {
  const auto weighted = std::find_if(schema.features.begin(), schema.features.end(),
                                     [](const FeatureEntry& entry) { return entry.weighted(); });
  const bool any = weighted != schema.features.end();
  if (any && !config.model.weighted)
    throw Error(
        Format("data.features: feature '{}' has weights, but the model takes none: "
               "expected \"weighted\": true in model",
               weighted->name));
  if (!any && config.model.weighted)
    throw Error("model.weighted: expected a feature with weights or weight_after in data.features");
}

// With "row0" every id is one more: in one table, rows of both would be those of other ids.
void CheckSameNumbers(const TrainConfig& config, const FeatureEntry& sequence,
                      const FeatureEntry& target) {
  const auto has_row0 = [](const FeatureEntry& entry) {
    return entry.missing == MissingFeature::kRow0;
  };
  if (has_row0(sequence) == has_row0(target)) return;
  for (const EmbeddingBagConfig& table : config.tables)
    if (std::ranges::count(table.feature_names, sequence.name) > 0 &&
        std::ranges::count(table.feature_names, target.name) > 0)
      throw Error(
          Format("data.features: '{}' is pooled by its attention to '{}' in table '{}', but "
                 "\"missing\": \"row0\", which makes every id one more, is of one of them: "
                 "expected it of both or none",
                 sequence.name, target.name, table.name));
}

// A longer bag would end the training at its row: it is cut while it is read.
void CheckSequences(const TrainConfig& config, const DataSchema& schema) {
  for (const SequenceAttention& one : config.model.attention) {
    const FeatureEntry entry = schema.Feature(one.sequence);
    const bool may_be_list = schema.format == RowFormat::kJsonl || !entry.separator.empty();
    if (!schema.is_text() || !may_be_list) continue;
    if (!entry.max_length || *entry.max_length > one.max_length)
      throw Error(
          Format("data.features: feature '{}': expected a max_length of at most {}, that of its "
                 "attention in model, got {}",
                 one.sequence, one.max_length,
                 entry.max_length ? std::to_string(*entry.max_length) : "none"));
    CheckSameNumbers(config, entry, schema.Feature(one.target));
  }
}

// A model without tasks learns the first label.
void CheckLabels(const TrainConfig& config, const DataSchema& schema) {
  if (config.model.tasks.empty() && schema.labels.empty() && schema.is_text())
    throw Error("data.labels: the model's loss needs a label, got none");
}

}  // namespace

void CheckSchema(const TrainConfig& config) {
  if (config.data.schema == nullptr) return;
  const DataSchema& schema = *config.data.schema;
  std::vector<std::string> read;
  for (const CategoricalFeature& feature : Features(config)) read.push_back(feature.name);
  schema.CheckFeaturesRead(read);
  for (const EmbeddingBagConfig& table : config.tables)
    if (!config.managed_collision.contains(table.name)) CheckRows(schema, table);
  CheckWeights(config, schema);
  CheckSequences(config, schema);
  CheckLabels(config, schema);
}

}  // namespace tessera::internal
