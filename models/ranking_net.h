#ifndef TESSERA_MODELS_RANKING_NET_H_
#define TESSERA_MODELS_RANKING_NET_H_
// A ranking model without its tables: dense features and pooled rows in, one number an example out.
#include <memory>
#include <optional>

#include "embedding/position_weighted.h"
#include "models/layers/module.h"
#include "models/ranking_net_config.h"
#include "runtime/context.h"

namespace tessera {

class RankingNet : public Module {
 public:
  // dense [B, dense_in], pooled [B, F·D] -> [B]: logits, or probabilities.
  virtual Variable Forward(Context& ctx, const Variable& dense, const Variable& pooled) const = 0;
  virtual bool gives_probabilities() const { return false; }
};

// Prefix of the names of a ranking model's position weights.
inline constexpr char kFeatureProcessorsPrefix[] =
    "sparse_arch.embedding_bag_collection._feature_processors.";
// Those of a configuration that has some.
std::optional<PositionWeightedModuleCollection> MakePositionWeights(Context& ctx,
                                                                    const RankingNetConfig& config);

// For F features of tables of dim D. Parameters have the names of TorchRec's models,
// "dense_arch.…", "inter_arch.…", "over_arch.…". Throws Error for sizes that don't fit, and for a
// dim that is not the last of dense_arch.
std::unique_ptr<RankingNet> MakeRankingNet(Context& ctx, const RankingNetConfig& config,
                                           int64_t num_features, int64_t dim);

}  // namespace tessera
#endif  // TESSERA_MODELS_RANKING_NET_H_
