// Raw ids over ranks: any number of ranks, with the same parts, does what one does, bit by bit;
// also from a checkpoint of another number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>

#include "comm/local_communicator.h"
#include "embedding/table/row_init.h"
#include "runtime/ops/arithmetic.h"
#include "sharding/managed_collision/managed_collision_checkpoint.h"
#include "sharding/managed_collision/sharded_managed_collision_collection.h"
#include "sharding/managed_collision/sharded_managed_collision_embedding.h"
#include "tests/sharding/managed_collision/managed_case.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using namespace testing;  // NOLINT: the case
using ::testing::HasSubstr;

struct RunOptions {
  int begin = 0;  // from a checkpoint, if above 0
  int end = kSteps;
  std::string folder = {};  // of the checkpoint
  bool save = false;
};

class ShardedManagedCollisionTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    folder_ = (std::filesystem::path(::testing::TempDir()) /
               Format("managed_collision_{}_{}", on_cpu() ? "cpu" : "cuda", getpid()))
                  .string();
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Steps of sequences, whose gradients depend on the rows.
  std::map<std::string, std::string> Train(const Kind& kind, int world,
                                           const RunOptions& options) const {
    Gathered gathered;
    RunLocalRanks(world, [&](Communicator& comm) {
      Context ctx({.device = device(), .threads = 1, .seed = 5});
      ShardedManagedCollisionEmbeddingCollection mc(
          ctx, comm, Configs<EmbeddingConfig>(), Managed(kind.make), PlanOf(world), {},
          {.gradient_division = false}, /*return_remapped_features=*/true);
      ShardedTables& tables = mc.embedding_collection().tables();
      if (options.begin > 0) {
        ShardedCheckpoint checkpoint(options.folder);
        LoadManagedTables(ctx, checkpoint, tables, mc.modules(), "ec.");
      }
      RawIds random(3);
      for (int step = 0; step < options.end; ++step) {
        const Batch batch(random, step);
        if (step < options.begin) continue;
        Step(ctx, mc, batch.OfRank(ctx, comm.rank(), world), step, comm.rank(), gathered);
      }
      gathered.AddState(ctx, tables, mc.modules());
      if (world == 1 && options.begin == 0) {
        EXPECT_GT(mc.modules().module("t").num_evicted(), 0);
      }
      if (options.save) SaveManagedTables(ctx, options.folder, tables, mc.modules(), "ec.");
    });
    return gathered.Finish();
  }

  // Pooled rows of this rank's bags, step after step.
  template <typename Collection>
  static std::vector<float> TrainPooled(Context& ctx, Collection& mc, int rank, int world) {
    std::vector<float> all;
    RawIds random(4);
    for (int step = 0; step < kSteps; ++step) {
      Tape tape(ctx);
      const Batch batch(random, step);
      const Variable pooled = mc.Forward(ctx, batch.OfRank(ctx, rank, world)).embeddings.values();
      tape.Backward(Sum(ctx, pooled));
      const std::vector<float> values = pooled.value().ToVector<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  // Numbers of ranks that are worth their time.
  std::vector<int> Worlds() const {
    return on_cpu() ? std::vector<int>{2, 3, 4, 7} : std::vector<int>{3};
  }

  std::string folder_;

 private:
  static void Step(Context& ctx, ShardedManagedCollisionEmbeddingCollection& mc,
                   const KeyedJaggedTensor& kjt, int step, int rank, Gathered& gathered) {
    Tape tape(ctx);
    const auto out = mc.Forward(ctx, kjt);
    const std::vector<int64_t>& offsets = kjt.offset_per_key();
    const Tensor& rows = out.remapped_features->values();
    Variable loss;
    for (size_t f = 0; f < out.embeddings.size(); ++f) {
      const auto& [name, sequence] = out.embeddings[f];
      gathered.AddOutput(step, name, rank, sequence.values().value());
      gathered.AddOutput(step, "rows of " + name, rank, rows.Rows(offsets[f], offsets[f + 1]));
      const Variable sum = Sum(ctx, Mul(ctx, sequence.values(), sequence.values()));
      loss = loss.defined() ? Add(ctx, loss, sum) : sum;
    }
    tape.Backward(loss);
  }
};

TEST_P(ShardedManagedCollisionTest, RanksDoWhatOneDoes) {
  for (const Kind& kind : Kinds()) {
    const auto expected = Train(kind, 1, {});
    EXPECT_GT(expected.size(), 100u);
    for (const int world : Worlds()) {
      SCOPED_TRACE(Format("{} on {} ranks", kind.name, world));
      ExpectSame(Train(kind, world, {}), expected);
    }
  }
}

TEST_P(ShardedManagedCollisionTest, AnyNumberOfRanksGoesOnFromACheckpoint) {
  for (const Kind& kind : Kinds()) {
    const auto whole = Train(kind, 1, {});
    Train(kind, 2, {.end = 7, .folder = folder_, .save = true});
    for (const int world : on_cpu() ? std::vector<int>{1, 3, 4} : std::vector<int>{3}) {
      SCOPED_TRACE(Format("{}, loaded by {}", kind.name, world));
      const auto got = Train(kind, world, {.begin = 7, .folder = folder_});
      EXPECT_LT(got.size(), whole.size());  // outputs of fewer steps
      for (const auto& [name, bytes] : got) ASSERT_TRUE(bytes == whole.at(name)) << name;
    }
  }
}

TEST_P(ShardedManagedCollisionTest, AnotherNumberOfPartsIsRefused) {
  RunLocalRanks(1, [&](Communicator& comm) {
    Context ctx({.device = device(), .threads = 1});
    const auto make = [&](int64_t parts) {
      return std::make_unique<ShardedManagedCollisionEmbeddingCollection>(
          ctx, comm, Configs<EmbeddingConfig>(), Managed(Kinds()[0].make, parts), PlanOf(1));
    };
    const auto saved = make(kParts);
    SaveManagedTables(ctx, folder_, saved->embedding_collection().tables(), saved->modules(), "");
    ShardedCheckpoint checkpoint(folder_);
    const auto error = [&](int64_t parts) {
      const auto mc = make(parts);
      return ErrorOf([&] {
        LoadManagedTables(ctx, checkpoint, mc->embedding_collection().tables(), mc->modules(), "");
      });
    };
    EXPECT_THAT(error(kParts / 2), HasSubstr("table t was saved in more than 3 parts"));
    EXPECT_THAT(error(kParts * 2), HasSubstr("table t was not saved in 12 parts"));
    EXPECT_EQ(error(kParts), "");
  });
}

// Pooled rows equal those of collections without shards, whose module has all parts.
TEST_P(ShardedManagedCollisionTest, PooledRowsAreThoseOfOneProcess) {
  std::vector<EmbeddingBagConfig> configs = Configs<EmbeddingBagConfig>();
  for (EmbeddingBagConfig& config : configs) config.init_fn = ConstantRows(0.5f);
  configs[0].pooling = PoolingType::kMean;
  for (const Kind& kind : Kinds()) {
    SCOPED_TRACE(kind.name);
    std::vector<std::vector<float>> got(3);
    RunLocalRanks(3, [&](Communicator& comm) {
      Context own({.device = device(), .threads = 1, .seed = 5});
      ShardedManagedCollisionEmbeddingBagCollection mc(own, comm, configs, Managed(kind.make),
                                                       PlanOf(3), {}, {.gradient_division = false});
      got[static_cast<size_t>(comm.rank())] = TrainPooled(own, mc, comm.rank(), 3);
    });
    Context own({.device = device(), .threads = 1, .seed = 5});
    auto embeddings = std::make_unique<EmbeddingBagCollection>(own, configs);
    const auto module = std::make_shared<PartitionedManagedCollisionModule>(
        own, HashParts{kParts, kRows / kParts}, 0, kParts, kind.make, TakeSeed(own));
    ManagedCollisionEmbeddingBagCollection one(
        std::move(embeddings),
        std::make_shared<ManagedCollisionCollection>(std::vector<ManagedTable>{{"t", module}},
                                                     std::vector<BaseEmbeddingConfig>{configs[0]}));
    const std::vector<float> expected = TrainPooled(own, one, 0, 1);
    EXPECT_GT(module->num_evicted(), 0);
    // In each step, ranks have bags of their own.
    const size_t of_step = expected.size() / kSteps, of_rank = of_step / 3;
    for (size_t i = 0; i < expected.size(); ++i) {
      const size_t step = i / of_step, rank = i % of_step / of_rank;
      ASSERT_NEAR(got[rank][step * of_rank + i % of_rank], expected[i], 1e-5f) << step;
    }
  }
}

TEST_P(ShardedManagedCollisionTest, ACollectionAloneGivesTheSameRows) {
  const TableSharder sharder = RowWiseBuckets(kParts);
  EmbeddingConfig config = Configs<EmbeddingConfig>()[0];
  config.init_fn = ConstantRows(0);  // draws nothing
  const TableShape shape = {"t", kRows, config.embedding_dim};
  const ShardingPlan plan =
      MakeShardingPlan({.world_size = 3, .local_size = 3}, {&shape, 1}, sharder);
  RunLocalRanks(3, [&](Communicator& comm) {
    Context a({.device = device(), .threads = 1, .seed = 5}),
        b({.device = device(), .threads = 1, .seed = 5});
    ShardedManagedCollisionCollection alone(a, comm, Managed(Kinds()[1].make), {config}, plan);
    ShardedManagedCollisionEmbeddingCollection mc(b, comm, {config}, Managed(Kinds()[1].make), plan,
                                                  {}, {},
                                                  /*return_remapped_features=*/true);
    RawIds random(6);
    for (int step = 0; step < 6; ++step) {
      const Batch batch(random, step);
      Tape tape_a(a), tape_b(b);
      const KeyedJaggedTensor rows = alone.Forward(a, batch.OfRank(a, comm.rank(), 3)),
                              expected =
                                  *mc.Forward(b, batch.OfRank(b, comm.rank(), 3)).remapped_features;
      EXPECT_EQ(rows.values().ToVector<int64_t>(), expected.values().ToVector<int64_t>());
      EXPECT_EQ(rows.keys(), expected.keys());
    }
  });
}

// Each id travels once a rank, or once a node of two ranks, and all that name one id get its row,
// which is one of its part.
class DistinctRawIds {
 public:
  DistinctRawIds(Device device, int world, IdDedup dedup)
      : device_(device), world_(world), dedup_(dedup), plan_(PlanOf(world)) {
    plan_.local_size = 2;
  }
  void Run() {
    RunLocalRanks(world_, [&](Communicator& comm) { RunRank(comm); });
  }

 private:
  void RunRank(Communicator& comm) {
    Context own({.device = device_, .threads = 1, .seed = 5});
    ShardedManagedCollisionEmbeddingCollection mc(
        own, comm, Configs<EmbeddingConfig>(), Managed(Kinds()[2].make), plan_, {},
        {.dedup_ids = dedup_}, /*return_remapped_features=*/true);
    EXPECT_EQ(mc.embedding_collection().tables().dedups_in_nodes(), dedup_ == IdDedup::kNode);
    RawIds random(6);
    const KeyedJaggedTensor kjt = Batch(random, 0).OfRank(own, comm.rank(), world_);
    std::optional<ShardedManagedCollisionEmbeddingCollection::Output> out;
    for (int pass = 0; pass < 2; ++pass) {
      Tape tape(own);
      out = mc.Forward(own, kjt);
    }
    const auto ids = kjt.values().ToVector<int64_t>(),
               rows = out->remapped_features->values().ToVector<int64_t>();
    Check(ids, rows, static_cast<size_t>(kjt.offset_per_key()[2]));
    EXPECT_EQ(out->embeddings[0].second.values().value().dim(0), kjt.offset_per_key()[1]);
  }
  // The first `managed` ids are raw.
  void Check(const std::vector<int64_t>& ids, const std::vector<int64_t>& rows, size_t managed) {
    const std::lock_guard lock(mutex_);
    const HashParts parts{kParts, kRows / kParts};
    for (size_t i = 0; i < managed; ++i) {
      EXPECT_EQ(row_of_.emplace(ids[i], rows[i]).first->second, rows[i]);
      EXPECT_EQ(rows[i] / parts.rows_a_part, parts.PartOf(ids[i]));
    }
    for (size_t i = managed; i < ids.size(); ++i) EXPECT_EQ(rows[i], ids[i]);
  }

  Device device_;
  int world_;
  IdDedup dedup_;
  ShardingPlan plan_;
  std::mutex mutex_;
  std::map<int64_t, int64_t> row_of_;  // on all ranks
};

TEST_P(ShardedManagedCollisionTest, DistinctIdsMayTravel) {
  DistinctRawIds(device(), 2, IdDedup::kRank).Run();
  DistinctRawIds(device(), 4, IdDedup::kNode).Run();
}

TEST_P(ShardedManagedCollisionTest, WhatCannotBeIsSaid) {
  const auto error = [&](const TableSharder& sharder, int64_t parts,
                         std::vector<EmbeddingConfig> configs = Configs<EmbeddingConfig>()) {
    return ErrorOf([&] {
      RunLocalRanks(2, [&](Communicator& comm) {
        Context ctx({.device = device(), .threads = 1});
        ShardedManagedCollisionEmbeddingCollection(
            ctx, comm, configs, Managed(Kinds()[0].make, parts), PlanOf(2, sharder));
      });
    });
  };
  EXPECT_THAT(error(DataParallel(), kParts), HasSubstr("table t is sharded data_parallel"));
  EXPECT_THAT(error(ColumnWiseSizes({1, 2}), kParts), HasSubstr("expected row_wise"));
  EXPECT_THAT(error(RowWise({20, 28}), kParts), HasSubstr("expected whole parts of 8 rows"));
  EXPECT_THAT(error(RowWise(), 5), HasSubstr("its 48 rows in 5 parts by hash"));
  std::vector<EmbeddingConfig> configs = Configs<EmbeddingConfig>();
  configs[0].feature_names = {"a", "a"};
  EXPECT_THAT(error(RowWise(), kParts, configs), HasSubstr("feature a is read by"));
  EXPECT_EQ(error(TableWise(1), 1), "");
  EXPECT_THAT(ErrorOf([&] {
                RunLocalRanks(1, [&](Communicator& comm) {
                  Context ctx({.device = device(), .threads = 1});
                  ShardedManagedCollisionEmbeddingCollection mc(
                      ctx, comm, Configs<EmbeddingConfig>(), Managed(Kinds()[0].make), PlanOf(1));
                  RawIds random(1);
                  mc.embedding_collection().Forward(ctx, Batch(random, 0).OfRank(ctx, 0, 1));
                });
              }),
              HasSubstr("nobody has made them rows"));
}

TESSERA_INSTANTIATE_DEVICES(ShardedManagedCollisionTest);

}  // namespace
}  // namespace tessera
