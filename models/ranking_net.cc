#include "models/ranking_net.h"

#include "models/deepfm_net.h"
#include "models/dlrm_net.h"
#include "runtime/base/check.h"

namespace tessera {

std::unique_ptr<RankingNet> MakeRankingNet(Context& ctx, const RankingNetConfig& config,
                                           int64_t num_features, int64_t dim) {
  CheckRankingNetConfig(config);
  if (config.type == RankingModelType::kDeepFm)
    return std::make_unique<SimpleDeepFmNet>(ctx, config, num_features, dim);
  TESSERA_CHECK_EQ(dim, config.dense_arch.back(),
                   "{}: dim of the tables and last size of dense_arch", ToString(config.type));
  return std::make_unique<DlrmNet>(ctx, config, num_features);
}

std::optional<PositionWeightedModuleCollection> MakePositionWeights(
    Context& ctx, const RankingNetConfig& config) {
  const auto& longest = config.position_weights;
  if (longest.empty()) return {};
  return PositionWeightedModuleCollection(ctx, {longest.begin(), longest.end()});
}

}  // namespace tessera
