#include "models/ranking_model.h"

#include <algorithm>
#include <utility>

#include "runtime/ops/activation.h"
#include "runtime/ops/loss.h"

namespace tessera {
namespace {

// The dim of all tables.
int64_t CheckedDim(const RankingModelConfig& config) {
  const bool has_arch = !config.net.dense_arch.empty();
  TESSERA_CHECK(has_arch || !config.tables.empty(), "a ranking model without tables");
  const int64_t dim = has_arch ? config.net.dense_arch.back() : config.tables.front().embedding_dim;
  for (const EmbeddingBagConfig& table : config.tables)
    TESSERA_CHECK_EQ(table.embedding_dim, dim, "{}: dim of table {} and {}",
                     ToString(config.net.type), table.name,
                     has_arch ? "last size of dense_arch" : "of the first table");
  return dim;
}

void CheckIsRead(const std::vector<EmbeddingBagConfig>& tables, const std::string& feature) {
  const bool read = std::any_of(tables.begin(), tables.end(), [&](const EmbeddingBagConfig& t) {
    return std::ranges::find(t.feature_names, feature) != t.feature_names.end();
  });
  TESSERA_CHECK(read, "position_weights: no table reads the feature '{}'", feature);
}

RankingModelConfig Checked(RankingModelConfig config) {
  CheckRankingNetConfig(config.net);
  for (const auto& [feature, length] : config.net.position_weights)
    CheckIsRead(config.tables, feature);
  CheckedDim(config);
  return config;
}

EmbeddingBagCollectionOptions EmbeddingsOf(const RankingModelConfig& config) {
  EmbeddingBagCollectionOptions options = config.embeddings;
  options.is_weighted =
      options.is_weighted || config.net.weighted || !config.net.position_weights.empty();
  return options;
}

}  // namespace

RankingModel::RankingModel(Context& ctx, RankingModelConfig config,
                           const std::optional<ModelSharding>& sharding)
    : EmbeddingModel(ctx, kTablePrefix, Checked(config).tables, EmbeddingsOf(config), sharding,
                     config.managed_collision),
      config_(std::move(config)),
      position_weights_(MakePositionWeights(ctx, config_.net)),
      net_(MakeRankingNet(ctx, config_.net, CountFeatures(config_.tables), CheckedDim(config_))) {}

std::string RankingModel::TableParameterName(const std::string& table) {
  return kTablePrefix + table + ".weight";
}

Variable RankingModel::Forward(Context& ctx, const Variable& dense,
                               const KeyedJaggedTensor& features) {
  const Variable pooled =
      Pool(ctx, position_weights_ ? position_weights_->Forward(ctx, features) : features);
  return ForwardPooled(ctx, dense, pooled);
}

Variable RankingModel::ForwardPooled(Context& ctx, const Variable& dense,
                                     const Variable& pooled) const {
  return net_->Forward(ctx, dense, pooled);
}

Variable RankingModel::Loss(Context& ctx, const Variable& outputs, const Tensor& labels,
                            const Tensor& weights) const {
  return gives_probabilities() ? Bce(ctx, outputs, labels, weights)
                               : BceWithLogits(ctx, outputs, labels, weights);
}

Tensor RankingModel::Probabilities(Context& ctx, const Variable& outputs) const {
  const NoGrad no_grad(ctx);
  return gives_probabilities() ? outputs.value() : Sigmoid(ctx, outputs).value();
}

void RankingModel::AppendDenseParameters(const std::string& prefix,
                                         std::vector<NamedParameter>& out) const {
  if (position_weights_)
    position_weights_->AppendParameters(prefix + kFeatureProcessorsPrefix, out);
  net_->AppendParameters(prefix, out);
}

}  // namespace tessera
