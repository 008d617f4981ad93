#include "models/ranking_model.h"

#include <algorithm>
#include <utility>

#include "models/tower_net.h"
#include "sparse/sequence_positions.h"

namespace tessera {
namespace {

// All tables have one dim, where the type asks for it.
void CheckDims(const RankingModelConfig& config) {
  if (TakesAnyDims(config.net.type)) return;
  const bool has_arch = !config.net.dense_arch.empty();
  TESSERA_CHECK(has_arch || !config.tables.empty(), "a ranking model without tables");
  const int64_t dim = has_arch ? config.net.dense_arch.back() : config.tables.front().embedding_dim;
  for (const EmbeddingBagConfig& table : config.tables)
    TESSERA_CHECK_EQ(table.embedding_dim, dim, "{}: dim of table {} and {}",
                     ToString(config.net.type), table.name,
                     has_arch ? "last size of dense_arch" : "of the first table");
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
  CheckDims(config);
  return config;
}

EmbeddingBagCollectionOptions EmbeddingsOf(const RankingModelConfig& config) {
  EmbeddingBagCollectionOptions options = config.embeddings;
  options.is_weighted =
      options.is_weighted || config.net.weighted || !config.net.position_weights.empty();
  return options;
}

}  // namespace

std::vector<EmbeddingBagConfig> CollectionTables(const RankingModelConfig& config) {
  std::vector<EmbeddingBagConfig> tables = config.tables;
  for (EmbeddingBagConfig& table : tables) {
    for (const std::string& feature : std::exchange(table.feature_names, {})) {
      const int64_t positions = PositionsOf(config.net, feature);
      if (positions == 0) table.feature_names.push_back(feature);
      for (int64_t p = 0; p < positions; ++p)
        table.feature_names.push_back(PositionKey(feature, p));
    }
  }
  return tables;
}

// Each position of a sequence has the sequence's TTL.
ManagedTableConfigs CollectionManagedTables(const RankingModelConfig& config) {
  ManagedTableConfigs managed = config.managed_collision;
  for (const EmbeddingBagConfig& table : config.tables) {
    const auto found = managed.find(table.name);
    auto* zch =
        found == managed.end() ? nullptr : std::get_if<HashZchOptions>(&found->second.module);
    if (zch == nullptr || zch->per_feature_ttl.size() != table.feature_names.size()) continue;
    const std::vector<int64_t> ttl = std::exchange(zch->per_feature_ttl, {});
    for (size_t f = 0; f < ttl.size(); ++f)
      zch->per_feature_ttl.insert(zch->per_feature_ttl.end(),
                                  static_cast<size_t>(std::max<int64_t>(
                                      1, PositionsOf(config.net, table.feature_names[f]))),
                                  ttl[f]);
  }
  return managed;
}

RankingModel::RankingModel(Context& ctx, RankingModelConfig config,
                           const std::optional<ModelSharding>& sharding)
    : EmbeddingModel(ctx, kTablePrefix, CollectionTables(Checked(config)), EmbeddingsOf(config),
                     sharding, CollectionManagedTables(config)),
      config_(std::move(config)),
      position_weights_(MakePositionWeights(ctx, config_.net)),
      net_(MakeRankingNet(ctx, config_.net, PooledFeatures(config_.tables, config_.net))) {}

std::string RankingModel::TableParameterName(const std::string& table) {
  return kTablePrefix + table + ".weight";
}

Variable RankingModel::Forward(Context& ctx, const Variable& dense,
                               const KeyedJaggedTensor& features) {
  const KeyedJaggedTensor split = WithPositions(ctx, features);
  const Variable pooled =
      Pool(ctx, position_weights_ ? position_weights_->Forward(ctx, split) : split);
  return ForwardPooled(ctx, dense, pooled);
}

KeyedJaggedTensor RankingModel::WithPositions(Context& ctx,
                                              const KeyedJaggedTensor& features) const {
  std::map<std::string, int64_t> positions;
  for (const SequenceAttention& one : config_.net.attention)
    positions[one.sequence] = one.max_length;
  return SplitIntoPositions(ctx, features, positions);
}

Variable RankingModel::ForwardPooled(Context& ctx, const Variable& dense,
                                     const Variable& pooled) const {
  return net_->Forward(ctx, dense, pooled);
}

Variable RankingModel::LossOf(Context& ctx, const Variable& outputs, TaskLoss loss,
                              const Tensor& labels, const Tensor& weights,
                              const LossOver& over) const {
  if (loss == TaskLoss::kMse) return Mse(ctx, outputs, labels, weights, over);
  return BceWithLogits(ctx, outputs, labels, weights, over);
}

Variable RankingModel::Loss(Context& ctx, const Variable& outputs, const Tensor& labels,
                            const Tensor& weights) const {
  TESSERA_CHECK_EQ(config_.net.num_tasks(), 1, "Loss is of one task (LossOfTask: of each): tasks");
  TESSERA_CHECK(config_.net.loss_of(0) != TaskLoss::kInBatchSoftmax,
                "Loss is of labels (LossOfTask: of in_batch_softmax, too)");
  return LossOf(ctx, OutputOfTask(ctx, config_.net, outputs, 0), config_.net.loss_of(0), labels,
                weights, {});
}

Variable RankingModel::LossOfTask(Context& ctx, const Variable& outputs, size_t task,
                                  const LossRows& rows, double factor,
                                  const CandidateGather& gather, const Tensor& log_q) const {
  if (config_.net.loss_of(task) == TaskLoss::kInBatchSoftmax) {
    TowerEmbeddings towers = SplitTowers(ctx, outputs);
    if (log_q) towers = WithSamplingCorrection(ctx, towers, log_q);
    const AllCandidates all = gather ? gather(towers.candidate) : AllCandidates{towers.candidate};
    return InBatchSoftmax(ctx, towers.query, all.rows,
                          {.first = all.first,
                           .weights = rows.weights,
                           .over = {.total = rows.total, .factor = factor}});
  }
  return LossOf(ctx, OutputOfTask(ctx, config_.net, outputs, task), config_.net.loss_of(task),
                rows.labels, rows.weights, {rows.total, factor});
}

Tensor RankingModel::Probabilities(Context& ctx, const Variable& outputs) const {
  const NoGrad no_grad(ctx);
  return Predictions(ctx, config_.net, outputs).value();
}

void RankingModel::AppendDenseParameters(const std::string& prefix,
                                         std::vector<NamedParameter>& out) const {
  if (position_weights_)
    position_weights_->AppendParameters(prefix + kFeatureProcessorsPrefix, out);
  net_->AppendParameters(prefix, out);
}

}  // namespace tessera
