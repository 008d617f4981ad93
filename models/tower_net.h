#ifndef TESSERA_MODELS_TOWER_NET_H_
#define TESSERA_MODELS_TOWER_NET_H_
// Two towers: the pooled rows of the query's features through an MLP, those of the candidate's
// through another one, to embeddings of one size. What they say of each other is their dot product,
// divided by the temperature. The MLPs have ReLU after all layers but the last: a product of
// embeddings without negative elements could say of no pair that it does not fit.
#include <string>
#include <vector>

#include "models/layers/mlp.h"
#include "models/ranking_net.h"
#include "runtime/context.h"
#include "runtime/tensor.h"

namespace tessera {

// Outputs: [B, 2·E], the query's embedding over the temperature and the candidate's, so that their
// product is the score wherever it is asked for. Dense features are left alone.
// Parameters, as TwoTower's: "query_proj._mlp.<i>._linear.…", "candidate_proj.…".
class TowerNet final : public RankingNet {
 public:
  // REQUIRES: a checked configuration of two towers. Throws Error for a feature that no table
  // reads, and for one that a table reads and no tower takes.
  TowerNet(Context& ctx, const RankingNetConfig& config,
           const std::vector<PooledFeature>& features);

  Variable Forward(Context& ctx, const Variable& dense, const Variable& pooled) const override;
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  // Columns [begin, begin + size) of the pooled rows.
  struct Block {
    int64_t begin, size;
  };
  struct Tower {
    std::vector<Block> blocks;
    Mlp mlp;
  };
  static Tower MakeTower(Context& ctx, const RankingNetConfig& config, const char* name,
                         const std::vector<std::string>& own,
                         const std::vector<PooledFeature>& features);
  Variable Embed(Context& ctx, const Tower& tower, const Variable& pooled) const;

  Tower query_, candidate_;
  float temperature_;
  bool normalize_;
};

// Both halves of a TowerNet's outputs.
struct TowerEmbeddings {
  Variable query, candidate;  // [B, E]
};
TowerEmbeddings SplitTowers(Context& ctx, const Variable& outputs);
// With one more column, by which every product is less by log_q [B] of its candidate.
TowerEmbeddings WithSamplingCorrection(Context& ctx, const TowerEmbeddings& towers,
                                       const Tensor& log_q);

}  // namespace tessera
#endif  // TESSERA_MODELS_TOWER_NET_H_
