#ifndef TESSERA_MODELS_DLRM_H_
#define TESSERA_MODELS_DLRM_H_
// TorchRec's DLRM (torchrec/models/dlrm.py), the ranking model that most people mean: dense
// features through an MLP to D numbers, each sparse feature pooled from its table to D numbers, the
// dot products of all pairs beside the dense part, an MLP to one logit. Its siblings are other
// types of RankingModel.
#include <optional>
#include <vector>

#include "models/ranking_model.h"
#include "runtime/context.h"

namespace tessera {

struct DlrmConfig {
  std::vector<EmbeddingBagConfig> tables;
  int64_t dense_in = 0;             // dense features
  std::vector<int64_t> dense_arch;  // sizes of the lower MLP; the last is D, the dim of every table
  std::vector<int64_t> over_arch;   // sizes of the upper MLP; the last is 1
  EmbeddingBagCollectionOptions embeddings = {};
};

// Parameters in this order, with TorchRec's names (tables are parameters only with the rule Dense,
// but always in StateDict):
//   sparse_arch.embedding_bag_collection.embedding_bags.<table>.weight
//   dense_arch.model._mlp.<i>._linear.{weight,bias}
//   over_arch.model.0._mlp.<i>._linear.{weight,bias}, over_arch.model.1.{weight,bias}
class Dlrm final : public RankingModel {
 public:
  // Throws Error for sizes that don't fit: a table whose dim is not the last of dense_arch, an
  // over_arch that doesn't end in 1.
  Dlrm(Context& ctx, const DlrmConfig& config, const std::optional<ModelSharding>& sharding = {})
      : RankingModel(ctx,
                     {.tables = config.tables,
                      .net = {.dense_in = config.dense_in,
                              .dense_arch = config.dense_arch,
                              .over_arch = config.over_arch},
                      .embeddings = config.embeddings},
                     sharding) {}
  // Makes a model with tables sharded over ranks; every rank makes one.
  Dlrm(Context& ctx, const DlrmConfig& config, Communicator& comm, const ShardingPlan& plan,
       const ShardingOptions& options = {})
      : Dlrm(ctx, config, ModelSharding{.comm = &comm, .plan = plan, .options = options}) {}
};

}  // namespace tessera
#endif  // TESSERA_MODELS_DLRM_H_
