#ifndef TESSERA_TESTS_SHARDING_TESTING_PLANNED_TABLES_H_
#define TESSERA_TESTS_SHARDING_TESTING_PLANNED_TABLES_H_
// Three small tables with rules that remember different things, over four ranks by every kind of
// plan, and steps of them whose gradients do not depend on the plan.
#include <string>
#include <vector>

#include "sharding/plan/plan_makers.h"
#include "sharding/sharded_tables.h"

namespace tessera::testing {

inline constexpr int kPlannedRanks = 4;

struct PlanCase {
  const char* name;
  TableSharder sharder;
};
inline std::vector<PlanCase> Plans() {
  return {{"table_wise", TableWise(2)},
          {"row_wise", RowWise()},
          {"column_wise of two", ColumnWise({3, 0})},
          {"column_wise of three", ColumnWise({1, 1, 2})},
          {"column_wise, uneven", ColumnWiseSizes({8, 4, 4, 8})},
          {"table_row_wise", TableRowWise(1)},
          {"grid_shard", GridShard({1, 0}, 12)},
          {"data_parallel", DataParallel()}};
}

inline std::vector<BaseEmbeddingConfig> PlannedTables() {
  std::vector<BaseEmbeddingConfig> tables;
  const std::vector<AnyRule> rules = {Adam{.lr = 0.1f}, RowwiseAdagrad{.lr = 0.1f},
                                      PartialRowwiseAdam{.lr = 0.1f}};
  for (size_t t = 0; t < rules.size(); ++t) {
    BaseEmbeddingConfig config;
    config.name = Format("t{}", t);
    config.num_embeddings = 9 + 4 * static_cast<int64_t>(t);
    config.embedding_dim = 24;
    config.feature_names = {Format("f{}", t)};
    config.optimizer = rules[t];
    if (t == 1) config.data_type = DType::kF16;
    tables.push_back(config);
  }
  return tables;
}

inline ShardedTables Make(Context& ctx, Communicator& comm, const PlanCase& plan,
                          const std::vector<BaseEmbeddingConfig>& tables) {
  std::vector<TableShape> shapes;
  std::vector<EmbeddingFeature> features;
  for (const BaseEmbeddingConfig& t : tables) {
    shapes.push_back({t.name, t.num_embeddings, t.embedding_dim});
    features.push_back({t.feature_names[0], static_cast<int>(features.size()), t.feature_names[0]});
  }
  return {ctx,
          comm,
          tables,
          std::vector(tables.size(), PoolingType::kSum),
          features,
          MakeShardingPlan({.world_size = kPlannedRanks, .local_size = 2}, shapes, plan.sharder),
          {.rounding_seed = 3}};
}

inline void Step(Context& ctx, ShardedTables& tables, int rank, int64_t step) {
  std::vector<int64_t> ids, lengths;
  std::vector<std::string> keys;
  for (const BaseEmbeddingConfig& t : tables.tables()) {
    keys.push_back(t.feature_names[0]);
    for (const int64_t id : {step + rank, t.num_embeddings - 1, step + 2}) ids.push_back(id);
    lengths.insert(lengths.end(), {2, 1});
  }
  Tape tape(ctx);
  const Variable out =
      tables.Forward(ctx, KeyedJaggedTensor::FromLengthsSync(keys, Tensor::From(ctx, ids),
                                                             Tensor::From(ctx, lengths)))[0];
  const Tensor grad = Tensor::EmptyHost(out.shape());
  for (int64_t i = 0; i < grad.numel(); ++i)
    grad.data<float>()[i] = static_cast<float>((i * 7 + rank + step) % 11 - 5) / 8;
  tape.Backward(out, grad.To(ctx, ctx.device()));
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_SHARDING_TESTING_PLANNED_TABLES_H_
