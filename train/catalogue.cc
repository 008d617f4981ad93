#include "train/catalogue.h"

#include <algorithm>
#include <numeric>

#include "models/tower_net.h"
#include "runtime/base/check.h"
#include "runtime/ops/matmul.h"

namespace tessera {
namespace {

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::count(names, name) > 0;
}

// The tables that read a feature, which have equally many rows.
std::vector<const EmbeddingBagConfig*> TablesOf(const TrainConfig& config,
                                                const std::string& feature) {
  std::vector<const EmbeddingBagConfig*> tables;
  for (const EmbeddingBagConfig& table : config.tables)
    if (Has(table.feature_names, feature)) tables.push_back(&table);
  TESSERA_CHECK(!tables.empty(), "no table reads the feature '{}'", feature);
  return tables;
}

// A batch of the candidates [begin, end), whose other features are empty bags.
Batch CandidateBatch(Context& ctx, const TrainConfig& config, const std::string& candidate,
                     int64_t begin, int64_t end) {
  std::vector<int64_t> ids(static_cast<size_t>(end - begin)), lengths;
  std::iota(ids.begin(), ids.end(), begin);
  std::vector<std::string> keys;
  for (const CategoricalFeature& feature : Features(config)) {
    keys.push_back(feature.name);
    lengths.insert(lengths.end(), ids.size(), feature.name == candidate ? 1 : 0);
  }
  const Variable weights(config.model.weighted ? Tensor::Full(ctx, {end - begin}, 1) : Tensor());
  return {.dense = Tensor::Zeros(ctx, {end - begin, 0}),
          .features = KeyedJaggedTensor::FromLengthsSync(keys, Tensor::From(ctx, ids),
                                                         Tensor::From(ctx, lengths), weights),
          .labels = {}};
}

TowerEmbeddings Embed(Trainer& trainer, const Batch& batch) {
  Context& ctx = trainer.context();
  const NoGrad no_grad(ctx);
  return SplitTowers(ctx, trainer.model().Forward(ctx, batch.dense, batch.features));
}

}  // namespace

CatalogueFeatures CatalogueFeaturesOf(const TrainConfig& config) {
  if (config.model.type != RankingModelType::kTwoTower)
    throw Error(
        Format("expected a model of the type two_tower, whose candidates are compared with each "
               "other; got the type {}",
               ToString(config.model.type)));
  if (config.model.candidate.size() != 1)
    throw Error(Format("model.candidate: expected one feature, whose ids are the catalogue, got {}",
                       config.model.candidate.size()));
  CatalogueFeatures features{.candidate = config.model.candidate[0], .history = {}};
  const std::vector<const EmbeddingBagConfig*> tables = TablesOf(config, features.candidate);
  for (const EmbeddingBagConfig* const table : tables)
    if (config.managed_collision.contains(table->name))
      throw Error(
          Format("table '{}': managed_collision beside a catalogue: its candidates are raw "
                 "ids, of which there is no list",
                 table->name));
  features.items = tables.front()->num_embeddings;
  for (const std::string& feature : config.model.query)
    if (std::ranges::any_of(tables, [&](const auto* t) { return Has(t->feature_names, feature); }))
      features.history.push_back(feature);
  return features;
}

Catalogue::Catalogue(Trainer& trainer) : trainer_(trainer) {
  constexpr int64_t kBlock = 4096;
  const CatalogueFeatures features = CatalogueFeaturesOf(trainer.config());
  Context& ctx = trainer.context();
  for (int64_t begin = 0; begin < features.items; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, features.items);
    const Tensor rows =
        Embed(trainer, CandidateBatch(ctx, trainer.config(), features.candidate, begin, end))
            .candidate.value();
    if (!candidates_) candidates_ = Tensor::Empty(ctx, {features.items, rows.dim(1)});
    candidates_.Rows(begin, end).CopyFrom(ctx, rows);
  }
}

Tensor Catalogue::Scores(const Batch& batch) {
  Context& ctx = trainer_.context();
  const NoGrad no_grad(ctx);
  return MatMul(ctx, Embed(trainer_, batch).query, Variable(candidates_), /*transpose_b=*/true)
      .value();
}

}  // namespace tessera
