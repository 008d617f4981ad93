#include "models/ranking_net.h"

#include <algorithm>

#include "models/attended_net.h"
#include "models/deepfm_net.h"
#include "models/dlrm_net.h"
#include "models/mixture_net.h"
#include "models/tower_net.h"
#include "runtime/base/check.h"
#include "runtime/ops/activation.h"
#include "runtime/ops/shaping.h"
#include "runtime/ops/similarity.h"

namespace tessera {
namespace {

int64_t OneDim(const RankingNetConfig& config, const std::vector<PooledFeature>& features) {
  const bool has_arch = !config.dense_arch.empty();
  TESSERA_CHECK(has_arch || !features.empty(), "{}: expected a table", ToString(config.type));
  const int64_t dim = has_arch ? config.dense_arch.back() : features.front().dim;
  for (const PooledFeature& feature : features)
    TESSERA_CHECK_EQ(feature.dim, dim, "{}: dim of the tables and {}", ToString(config.type),
                     has_arch ? "last size of dense_arch" : "of the first");
  return dim;
}

}  // namespace

std::unique_ptr<RankingNet> MakeRankingNet(Context& ctx, const RankingNetConfig& config,
                                           const std::vector<PooledFeature>& features) {
  CheckRankingNetConfig(config);
  if (!config.attention.empty()) return std::make_unique<AttendedNet>(ctx, config, features);
  if (config.type == RankingModelType::kTwoTower)
    return std::make_unique<TowerNet>(ctx, config, features);
  if (TakesAnyDims(config.type)) return MakeMixtureNet(ctx, config, features);
  const int64_t dim = OneDim(config, features);
  if (config.type == RankingModelType::kDeepFm)
    return std::make_unique<SimpleDeepFmNet>(ctx, config, std::ssize(features), dim);
  return std::make_unique<DlrmNet>(ctx, config, std::ssize(features), dim);
}

std::optional<PositionWeightedModuleCollection> MakePositionWeights(
    Context& ctx, const RankingNetConfig& config) {
  const auto& longest = config.position_weights;
  if (longest.empty()) return {};
  return PositionWeightedModuleCollection(ctx, {longest.begin(), longest.end()});
}

Variable AsOutputs(Context& ctx, const Variable& outputs) {
  return outputs.dim(1) == 1 ? Reshape(ctx, outputs, {-1}) : outputs;
}

Variable OutputOfTask(Context& ctx, const RankingNetConfig& config, const Variable& outputs,
                      size_t task) {
  if (config.type == RankingModelType::kTwoTower) {
    const TowerEmbeddings towers = SplitTowers(ctx, outputs);
    return RowDot(ctx, towers.query, towers.candidate);
  }
  return AnswerOfTask(ctx, outputs, task);
}

Variable AnswerOfTask(Context& ctx, const Variable& answers, size_t task) {
  if (answers.shape().rank() == 1) return answers;
  return Reshape(ctx, Narrow(ctx, answers, 1, static_cast<int64_t>(task), 1), {answers.dim(0)});
}

Variable Predictions(Context& ctx, const RankingNetConfig& config, const Variable& outputs) {
  const auto is_bce = [&](size_t task) { return config.loss_of(task) == TaskLoss::kBce; };
  const auto count = static_cast<size_t>(config.num_tasks());
  const bool towers = config.type == RankingModelType::kTwoTower;
  size_t clicks = 0;
  for (size_t t = 0; t < count; ++t) clicks += is_bce(t) ? 1 : 0;
  if (!towers && clicks == count) return Sigmoid(ctx, outputs);
  if (!towers && count == 1) return outputs;
  std::vector<Variable> columns;
  for (size_t t = 0; t < count; ++t) {
    const Variable output = OutputOfTask(ctx, config, outputs, t);
    columns.push_back(Reshape(ctx, is_bce(t) ? Sigmoid(ctx, output) : output, {-1, 1}));
  }
  return AsOutputs(ctx, count == 1 ? columns[0] : Concat(ctx, columns, 1));
}

}  // namespace tessera
