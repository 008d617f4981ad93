#include "models/two_tower.h"

#include <utility>

#include "runtime/ops/shaping.h"
#include "runtime/ops/similarity.h"

namespace tessera {
namespace {

TwoTowerConfig Checked(TwoTowerConfig config) {
  for (const EmbeddingBagConfig* table : {&config.query_table, &config.candidate_table})
    TESSERA_CHECK_EQ(std::ssize(table->feature_names), 1, "two towers: features of table {}",
                     table->name);
  TESSERA_CHECK_EQ(config.query_table.embedding_dim, config.candidate_table.embedding_dim,
                   "two towers: dims of tables {} and {}", config.query_table.name,
                   config.candidate_table.name);
  return config;
}

}  // namespace

TwoTower::TwoTower(Context& ctx, TwoTowerConfig config,
                   const std::optional<ModelSharding>& sharding)
    : EmbeddingModel(ctx, "ebc.embedding_bags.", {config.query_table, config.candidate_table},
                     config.embeddings, sharding),
      config_(Checked(std::move(config))),
      query_proj_(ctx, config_.query_table.embedding_dim, config_.layers),
      candidate_proj_(ctx, config_.candidate_table.embedding_dim, config_.layers) {}

TowerOutputs TwoTower::Forward(Context& ctx, const KeyedJaggedTensor& features) {
  const int64_t dim = config_.query_table.embedding_dim;
  const std::vector<Variable> pooled = Split(ctx, Pool(ctx, features), 1, {dim, dim});
  return {query_proj_.Forward(ctx, pooled[0]), candidate_proj_.Forward(ctx, pooled[1])};
}

Variable TwoTower::Logits(Context& ctx, const KeyedJaggedTensor& features) {
  const TowerOutputs towers = Forward(ctx, features);
  return RowDot(ctx, towers.query, towers.candidate);
}

Tensor TwoTower::EmbedQueries(Context& ctx, const Tensor& ids) { return Embed(ctx, true, ids); }
Tensor TwoTower::EmbedCandidates(Context& ctx, const Tensor& ids) { return Embed(ctx, false, ids); }

// The other tower's bags are empty.
Tensor TwoTower::Embed(Context& ctx, bool query, const Tensor& ids) {
  const NoGrad no_grad(ctx);
  const int64_t n = ids.dim(0), dim = config_.query_table.embedding_dim;
  const Tensor lengths = Tensor::Zeros(ctx, {2 * n}, DType::kI64);
  lengths.Rows(query ? 0 : n, query ? n : 2 * n).Fill(ctx, 1);
  KeyedJaggedTensorArgs args;
  args.keys = {config_.query_table.feature_names[0], config_.candidate_table.feature_names[0]};
  args.values = ids;
  args.lengths = lengths;
  args.stride = n;
  const Tensor pooled = embedding_bag_collection()
                            .Forward(ctx, KeyedJaggedTensor(std::move(args)))
                            .values()
                            .value()
                            .Narrow(1, query ? 0 : dim, dim);
  return (query ? query_proj_ : candidate_proj_).Forward(ctx, pooled).value();
}

void TwoTower::AppendDenseParameters(const std::string& prefix,
                                     std::vector<NamedParameter>& out) const {
  query_proj_.AppendParameters(prefix + "query_proj.", out);
  candidate_proj_.AppendParameters(prefix + "candidate_proj.", out);
}

}  // namespace tessera
