#ifndef TESSERA_MODELS_TWO_TOWER_H_
#define TESSERA_MODELS_TWO_TOWER_H_
// A two-tower model (torchrec/examples/retrieval/modules/two_tower.py): query and candidate, each a
// pooled table and an MLP with ReLU on every layer, meet in a dot product. So the candidates of a
// whole catalogue are embedded once, and a query is answered by the nearest of them.
//
//   TwoTower model(ctx, {.query_table = users, .candidate_table = items, .layers = {64, 32}});
//   …
//   Tape tape(ctx);
//   const TowerOutputs towers = model.Forward(ctx, batch);
//   tape.Backward(InBatchSoftmax(ctx, towers.query, towers.candidate));  // tables are updated here
//   dense_optimizer.Step(ctx);
#include <optional>
#include <string>
#include <vector>

#include "models/embedding_model.h"
#include "models/layers/mlp.h"
#include "runtime/tensor.h"

namespace tessera {

struct TwoTowerConfig {
  EmbeddingBagConfig query_table, candidate_table;  // of one dim; one feature each
  std::vector<int64_t> layers;                      // sizes of each tower's MLP
  EmbeddingBagCollectionOptions embeddings = {};
};

struct TowerOutputs {
  Variable query, candidate;  // [B, layers.back()]
};

// Parameters, with TorchRec's names: ebc.embedding_bags.<table>.weight,
// query_proj._mlp.<i>._linear.{weight,bias}, candidate_proj.….
class TwoTower final : public EmbeddingModel {
 public:
  // Throws Error for tables of different dims or of other than one feature, and for no layers.
  TwoTower(Context& ctx, TwoTowerConfig config, const std::optional<ModelSharding>& sharding = {});

  // Both towers. The KJT has the features of both tables, in any order.
  TowerOutputs Forward(Context& ctx, const KeyedJaggedTensor& features);
  // Σ_d query·candidate of each example: logits [B].
  Variable Logits(Context& ctx, const KeyedJaggedTensor& features);

  // One tower alone: ids [N] of its table -> [N, layers.back()]. Nothing is recorded. REQUIRES:
  // tables that are not sharded.
  Tensor EmbedQueries(Context& ctx, const Tensor& ids);
  Tensor EmbedCandidates(Context& ctx, const Tensor& ids);

  const TwoTowerConfig& config() const { return config_; }

 protected:
  void AppendDenseParameters(const std::string& prefix,
                             std::vector<NamedParameter>& out) const override;

 private:
  Tensor Embed(Context& ctx, bool query, const Tensor& ids);

  TwoTowerConfig config_;
  Mlp query_proj_, candidate_proj_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_TWO_TOWER_H_
