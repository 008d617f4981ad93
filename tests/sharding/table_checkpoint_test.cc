// Sharded tables saved under one plan and loaded under another.
#include "sharding/table_checkpoint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>

#include "comm/local_communicator.h"
#include "sharding/plan/plan_makers.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

struct PlanCase {
  const char* name;
  int world;
  TableSharder sharder;
};
std::vector<PlanCase> Plans() {
  return {{"row_wise of 3", 3, RowWise()},
          {"column_wise of 2", 2, ColumnWise({0, 1})},
          {"table_wise of 4", 4, TableWise(2)},
          {"data_parallel of 2", 2, DataParallel()},
          {"one rank", 1, TableWise(0)}};
}

BaseEmbeddingConfig Config() {
  BaseEmbeddingConfig config;
  config.name = "t";
  config.num_embeddings = 11;
  config.embedding_dim = 8;
  config.feature_names = {"f"};
  config.optimizer = Adam{.lr = 0.1f};
  return config;
}

std::unique_ptr<ShardedTables> Make(Context& ctx, Communicator& comm, const PlanCase& plan,
                                    const BaseEmbeddingConfig& config = Config()) {
  const TableShape shape{config.name, config.num_embeddings, config.embedding_dim};
  return std::make_unique<ShardedTables>(
      ctx, comm, std::vector{config}, std::vector{PoolingType::kSum},
      std::vector<EmbeddingFeature>{{"f", 0, "f"}},
      MakeShardingPlan({.world_size = plan.world, .local_size = plan.world}, {&shape, 1},
                       plan.sharder));
}

// One step on ids that depend on its number; every rank has the same bags, so that all worlds see
// the same mean.
void Step(Context& ctx, ShardedTables& tables, int step) {
  const KeyedJaggedTensor kjt = KeyedJaggedTensor::FromLengthsSync(
      {"f"}, Tensor::From(ctx, std::vector<int64_t>{step, 10, 4, step + 3}),
      Tensor::From(ctx, std::vector<int64_t>{3, 1}));
  Tape tape(ctx);
  const Variable out = tables.Forward(ctx, kjt)[0];
  tape.Backward(out, Tensor::Full(ctx, out.shape(), 0.25 * (step + 1)));
}

// Whole tensors, put together from what ranks hold.
class Gathered {
 public:
  void Add(const ShardedTables& tables) {
    const std::lock_guard lock(mutex_);
    for (const ShardTensors& s : ShardTensorsOf(tables)) {
      Put("weight", s.weights, s.shard);
      for (const OptimizerState& state : s.states) Put(state.name, state.tensor, s.shard);
    }
  }
  std::map<std::string, Tensor> tensors;

 private:
  void Put(const std::string& name, const Tensor& part, const Shard& s) {
    Tensor& whole = tensors[name];
    if (!whole) whole = Tensor::EmptyHost({11, 8});
    Context cpu({.threads = 1});
    whole.Rows(s.row_offset, s.row_offset + s.rows)
        .Narrow(1, s.column_offset, s.columns)
        .CopyFrom(cpu, part.ToHost());
  }
  std::mutex mutex_;
};

class TableCheckpointTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    folder_ = std::filesystem::path(::testing::TempDir()) /
              Format("table_checkpoint_{}_{}", on_cpu() ? "cpu" : "cuda", getpid());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Steps [begin, end), from a checkpoint if begin > 0; saved at the end if asked.
  std::map<std::string, Tensor> Train(const PlanCase& plan, int begin, int end, bool save) {
    Gathered gathered;
    RunLocalRanks(plan.world, [&](Communicator& comm) {
      Context own({.device = device(), .threads = 1, .seed = 8});
      const auto tables = Make(own, comm, plan);
      if (begin > 0) {
        ShardedCheckpoint checkpoint(folder_.string());
        LoadTables(own, checkpoint, *tables);
        EXPECT_EQ(tables->iter(), begin);
      }
      for (int s = begin; s < end; ++s) Step(own, *tables, s);
      if (save) SaveTables(own, folder_.string(), *tables, "ebc.");
      own.Sync();
      gathered.Add(*tables);
    });
    return gathered.tensors;
  }

  std::filesystem::path folder_;
};

TEST_P(TableCheckpointTest, GoesOnUnderEveryPlan) {
  for (const PlanCase& saved : Plans()) {
    Train(saved, 0, 3, /*save=*/true);
    const std::map<std::string, Tensor> expected = Train(saved, 0, 5, /*save=*/false);
    for (const PlanCase& loaded : Plans()) {
      SCOPED_TRACE(Format("from {} to {}", saved.name, loaded.name));
      const std::map<std::string, Tensor> got = Train(loaded, 3, 5, /*save=*/false);
      ASSERT_EQ(got.size(), 3u);
      for (const auto& [name, tensor] : expected) {
        const bool same_plan = std::string(loaded.name) == saved.name;
        EXPECT_TRUE(!same_plan || SameBits(got.at(name), tensor)) << name;
        for (int64_t i = 0; i < tensor.numel(); ++i)
          ASSERT_NEAR(got.at(name).data<float>()[i], tensor.data<float>()[i], 1e-5) << name;
      }
    }
  }
}

TEST_P(TableCheckpointTest, TheMaxCounterIsSaved) {
  BaseEmbeddingConfig config = Config();
  config.optimizer = CounterRowwiseAdagrad{};
  RunLocalRanks(2, [&](Communicator& comm) {
    Context own({.device = device(), .threads = 1});
    const auto tables = Make(own, comm, {"row_wise of 2", 2, RowWise()}, config);
    tables->set_max_counter(0, 7);
    SaveTables(own, folder_.string(), *tables, "ebc.");
    ShardedCheckpoint checkpoint(folder_.string());
    EXPECT_EQ(checkpoint.table("t").max_counter, 7);
    tables->set_max_counter(0, 3);
    LoadTables(own, checkpoint, *tables);
    EXPECT_EQ(tables->max_counter(0), 7);
  });
}

TEST_P(TableCheckpointTest, AnotherRuleIsRefused) {
  const PlanCase plan = Plans()[0];
  Train(plan, 0, 1, /*save=*/true);
  Context own({.device = device(), .threads = 1});
  RunLocalRanks(1, [&](Communicator& comm) {
    BaseEmbeddingConfig config = Config();
    config.optimizer = Sgd{};
    const TableShape shape{config.name, config.num_embeddings, config.embedding_dim};
    ShardedTables tables(
        own, comm, {config}, {PoolingType::kSum}, {{"f", 0, "f"}},
        MakeShardingPlan({.world_size = 1, .local_size = 1}, {&shape, 1}, TableWise(0)));
    ShardedCheckpoint checkpoint(folder_.string());
    EXPECT_THROW(LoadTables(own, checkpoint, tables), Error);
  });
}

TESSERA_INSTANTIATE_DEVICES(TableCheckpointTest);

}  // namespace
}  // namespace tessera
