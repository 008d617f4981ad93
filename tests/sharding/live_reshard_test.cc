// Tables moved between plans hold the bits that a checkpoint would have brought, and go on alike.
#include "sharding/live_reshard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "comm/local_communicator.h"
#include "sharding/plan_makers.h"
#include "sharding/table_checkpoint.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

constexpr int kWorld = 4;

struct PlanCase {
  const char* name;
  TableSharder sharder;
};
std::vector<PlanCase> Plans() {
  return {{"table_wise", TableWise(2)},
          {"row_wise", RowWise()},
          {"column_wise of two", ColumnWise({3, 0})},
          {"column_wise of three", ColumnWise({1, 1, 2})},
          {"column_wise, uneven", ColumnWiseSizes({8, 4, 4, 8})},
          {"table_row_wise", TableRowWise(1)},
          {"grid_shard", GridShard({1, 0}, 12)},
          {"data_parallel", DataParallel()}};
}

std::vector<BaseEmbeddingConfig> Tables() {
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

ShardedTables Make(Context& ctx, Communicator& comm, const PlanCase& plan,
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
          MakeShardingPlan({.world_size = kWorld, .local_size = 2}, shapes, plan.sharder),
          {.rounding_seed = 3}};
}

void Step(Context& ctx, ShardedTables& tables, int rank, int64_t step) {
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

void ExpectSame(const ShardedTables& a, const ShardedTables& b) {
  const std::vector<ShardTensors> ours = ShardTensorsOf(a), theirs = ShardTensorsOf(b);
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t s = 0; s < ours.size(); ++s) {
    SCOPED_TRACE(Format("table {}, {}", ours[s].table, ours[s].shard));
    EXPECT_TRUE(SameBits(ours[s].weights.ToHost(), theirs[s].weights.ToHost()));
    for (size_t i = 0; i < ours[s].states.size(); ++i)
      EXPECT_TRUE(SameBits(ours[s].states[i].tensor.ToHost(), theirs[s].states[i].tensor.ToHost()))
          << ours[s].states[i].name;
  }
  EXPECT_EQ(a.iter(), b.iter());
}

class LiveReshardTest : public testing::DeviceTest {};

TEST_P(LiveReshardTest, BringsTheBitsOfACheckpoint) {
  const auto folder = std::filesystem::path(::testing::TempDir()) /
                      Format("live_reshard_{}_{}", on_cpu() ? "cpu" : "cuda", getpid());
  for (const PlanCase& from : Plans()) {
    std::filesystem::remove_all(folder);
    RunLocalRanks(kWorld, [&](Communicator& comm) {
      Context own({.device = device(), .threads = 1, .seed = 8});
      ShardedTables old_tables = Make(own, comm, from, Tables());
      for (int64_t s = 0; s < 2; ++s) Step(own, old_tables, comm.rank(), s);
      SaveTables(own, folder.string(), old_tables, "");
      for (const PlanCase& to : Plans()) {
        SCOPED_TRACE(Format("from {} to {}, rank {}", from.name, to.name, comm.rank()));
        ShardedTables moved = Make(own, comm, to, Tables()), loaded = Make(own, comm, to, Tables());
        ReshardTables(own, old_tables, moved);
        ShardedCheckpoint checkpoint(folder.string());
        LoadTables(own, checkpoint, loaded);
        EXPECT_EQ(moved.iter(), 2);
        ExpectSame(moved, loaded);
        Step(own, moved, comm.rank(), 2);
        Step(own, loaded, comm.rank(), 2);
        ExpectSame(moved, loaded);
      }
    });
  }
  std::filesystem::remove_all(folder);
}

TEST_P(LiveReshardTest, OtherTablesAreRefused) {
  RunLocalRanks(kWorld, [&](Communicator& comm) {
    Context own({.device = device(), .threads = 1, .seed = 8});
    std::vector<BaseEmbeddingConfig> others = Tables();
    others[0].optimizer = Sgd{};
    ShardedTables from = Make(own, comm, Plans()[0], Tables()),
                  to = Make(own, comm, Plans()[0], others);
    EXPECT_THROW(ReshardTables(own, from, to), Error);
  });
}

TESSERA_INSTANTIATE_DEVICES(LiveReshardTest);

}  // namespace
}  // namespace tessera
