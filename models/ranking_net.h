#ifndef TESSERA_MODELS_RANKING_NET_H_
#define TESSERA_MODELS_RANKING_NET_H_
// A ranking model without its tables: dense features and pooled rows in, a number an example and
// task out.
#include <memory>
#include <optional>
#include <vector>

#include "embedding/position_weighted.h"
#include "models/layers/module.h"
#include "models/ranking_net_config.h"
#include "runtime/context.h"

namespace tessera {

class RankingNet : public Module {
 public:
  // dense [B, dense_in], pooled [B, ΣD] -> [B] of one task, or [B, tasks]: logits of tasks by bce.
  // Two towers: [B, 2·E] (tower_net.h).
  virtual Variable Forward(Context& ctx, const Variable& dense, const Variable& pooled) const = 0;
};

// Prefix of the names of a ranking model's position weights.
inline constexpr char kFeatureProcessorsPrefix[] =
    "sparse_arch.embedding_bag_collection._feature_processors.";
// Those of a configuration that has some.
std::optional<PositionWeightedModuleCollection> MakePositionWeights(Context& ctx,
                                                                    const RankingNetConfig& config);

// For pooled rows of these features, in the order of their columns. Parameters have the names of
// TorchRec's models, "dense_arch.…", "inter_arch.…", "over_arch.…"; those of mmoe and ple are in
// mixture_net.h, of attention in attended_net.h. Throws Error for sizes that don't fit, and for a
// dim that is not the last of dense_arch.
std::unique_ptr<RankingNet> MakeRankingNet(Context& ctx, const RankingNetConfig& config,
                                           const std::vector<PooledFeature>& features);

// A net's outputs as [B, tasks], or [B] of one task: of n numbers an example.
Variable AsOutputs(Context& ctx, const Variable& outputs);
// The outputs of one task, [B].
Variable OutputOfTask(Context& ctx, const RankingNetConfig& config, const Variable& outputs,
                      size_t task);
// The column of one task, [B], of answers [B] of one task or [B, tasks] of several.
Variable AnswerOfTask(Context& ctx, const Variable& answers, size_t task);
// The answers of a net to each task, [B] of one task, [B, tasks] of several: probabilities of tasks
// by bce, else the numbers themselves, which are dot products of two towers.
Variable Predictions(Context& ctx, const RankingNetConfig& config, const Variable& outputs);

}  // namespace tessera
#endif  // TESSERA_MODELS_RANKING_NET_H_
