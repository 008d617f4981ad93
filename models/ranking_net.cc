#include "models/ranking_net.h"

#include <algorithm>

#include "models/deepfm_net.h"
#include "models/dlrm_net.h"
#include "models/mixture_net.h"
#include "runtime/base/check.h"
#include "runtime/ops/activation.h"
#include "runtime/ops/shaping.h"

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
  if (config.num_tasks() == 1) return outputs;
  return Reshape(ctx, Narrow(ctx, outputs, 1, static_cast<int64_t>(task), 1), {outputs.dim(0)});
}

Variable Predictions(Context& ctx, const RankingNetConfig& config, const Variable& outputs,
                     bool outputs_are_probabilities) {
  const auto is_bce = [](const TaskConfig& task) { return task.loss == TaskLoss::kBce; };
  if (outputs_are_probabilities) return outputs;
  if (std::ranges::all_of(config.tasks, is_bce)) return Sigmoid(ctx, outputs);
  if (config.num_tasks() == 1) return outputs;
  std::vector<Variable> columns;
  for (size_t t = 0; t < config.tasks.size(); ++t) {
    const Variable column = Narrow(ctx, outputs, 1, static_cast<int64_t>(t), 1);
    columns.push_back(is_bce(config.tasks[t]) ? Sigmoid(ctx, column) : column);
  }
  return Concat(ctx, columns, 1);
}

}  // namespace tessera
