// Tables of raw ids that grow on ranks: rows take memory as ids come, with the bits of tables that
// have all their rows from the start, in steps, checkpoints and after a resume.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "models/ranking_model.h"
#include "runtime/base/process_memory.h"
#include "runtime/files/disk_space.h"
#include "sharding/checkpoint/reshard_checkpoint.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"
#include "train/run/checkpoint_space.h"

namespace tessera {
namespace {

using testing::CurveOf;
using testing::CurveOfRanks;
using testing::Exported;
using testing::PlanFor;
using testing::ReadFile;
using testing::RunCurve;
using testing::TempPath;

// Two tables of raw ids in 8 parts, of which about 1,000 come, beside one of row numbers.
TrainConfig ConfigOf(int64_t rows, int64_t dim, DType type = DType::kF32) {
  TrainConfig config = ParseTrainConfig(R"({
    "tables": [
      {"name": "a", "rows": 800, "dim": 8, "features": ["cat_0"],
       "optimizer": {"name": "adam", "lr": 0.01}},
      {"name": "b", "rows": 800, "dim": 8, "features": ["cat_1", "cat_2"]},
      {"name": "c", "rows": 5000, "dim": 8, "features": ["cat_9"], "managed_collision": null}],
    "managed_collision": {"kind": "growing", "num_parts": 8},
    "model": {"type": "dlrm", "dense_arch": [8, 8], "over_arch": [16, 1]},
    "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.1},
                  "dense": {"name": "adam", "lr": 0.01}},
    "data": {"format": "planted", "rows": 1000, "eval_rows": 500, "vocabulary": 5000,
             "strength": 3},
    "train": {"batch_size": 64, "epochs": 2, "seed": 3}})",
                                        "growing.json");
  for (EmbeddingBagConfig& table : config.tables) {
    table.embedding_dim = dim;
    if (table.name != "c") table.num_embeddings = rows;
  }
  config.tables[0].data_type = type;
  config.model.dense_arch.back() = dim;
  return config;
}

// Returns the same tables with all rows from the start, behind a cache.
TrainConfig WithAllRows(TrainConfig config) {
  for (EmbeddingBagConfig& table : config.tables)
    table.location = EmbeddingLocation::kManagedCaching;
  return config;
}

// The tensors of a checkpoint, bytes by name.
std::map<std::string, std::string> TensorsIn(const std::string& path) {
  const Checkpoint checkpoint = ReadCheckpoint(path);
  std::map<std::string, std::string> tensors;
  for (const CheckpointEntry& entry : checkpoint.tensors) {
    std::string& bytes = tensors[entry.name];
    bytes.resize(static_cast<size_t>(entry.tensor.nbytes()));
    checkpoint.read_bytes(entry, 0, entry.tensor.nbytes(), bytes.data());
  }
  return tensors;
}

// All rows would take 24 GiB, and their states as much.
TEST(RowsOnUse, ManyDeclaredRowsTakeLittleMemoryOnRanks) {
  const TrainConfig config = ConfigOf(50'000'000, 64);
  const int64_t start = MemoryOfProcess().bytes;
  CurveOf(config);
  EXPECT_LT(MemoryOfProcess().bytes - start, int64_t{1} << 30);  // one process
  for (const int ranks : {2, 4}) {
    const int64_t before = MemoryOfProcess().bytes;
    int64_t after = 0;
    RunLocalRanks(ranks, [&](Communicator& comm) {
      Context ctx({.threads = 1, .seed = config.seed});
      Trainer trainer(ctx, config, TrainingRanks{&comm, PlanFor(config, ranks, "row_wise")});
      const TrainingRunReport report = RunTraining(trainer, DataSets(config, {}), {});
      EXPECT_GT(report.raw_ids.at(0).ids + report.raw_ids.at(1).ids, 500);
      comm.GatherStringsSync("", "all have trained");
      if (comm.rank() == 0) after = MemoryOfProcess().bytes;
      comm.GatherStringsSync("", "it is measured");
    });
    std::printf("%d ranks: %.0f MiB more\n", ranks,
                static_cast<double>(after - before) / (1 << 20));
    EXPECT_LT(after - before, int64_t{1} << 30) << ranks;
  }
}

TEST(RowsOnUse, CheckpointsAreThoseOfTablesWithAllRows) {
  for (const DType type : {DType::kF32, DType::kBF16})
    for (const int ranks : {2, 4})
      for (const char* const plan : {"row_wise", "table_wise"}) {
        SCOPED_TRACE(Format("{} on {} ranks, plan '{}'", type, ranks, plan));
        const TrainConfig config = ConfigOf(2000, 8, type), all = WithAllRows(config);
        const std::string got = TempPath("on_use"), expected = TempPath("all_rows");
        const RunCurve curve = CurveOfRanks(config, ranks, PlanFor(config, ranks, plan), got);
        EXPECT_EQ(CurveOfRanks(all, ranks, PlanFor(all, ranks, plan), expected).losses,
                  curve.losses);
        EXPECT_TRUE(TensorsIn(Exported(got)) == TensorsIn(Exported(expected)));
      }
}

TEST(RowsOnUse, OneProcessWithPartsHasTheSameBits) {
  const TrainConfig config = ConfigOf(2000, 8);
  const std::string file = TempPath("none"), all = TempPath("none_all"), folder = TempPath("one");
  const RunCurve alone = CurveOf(config, {}, file);
  EXPECT_EQ(CurveOf(WithAllRows(config), {}, all).losses, alone.losses);
  EXPECT_TRUE(TensorsIn(file) == TensorsIn(all));
  EXPECT_EQ(CurveOfRanks(config, 1, PlanFor(config, 1, "row_wise"), folder).losses, alone.losses);
  EXPECT_TRUE(ReadFile(Exported(folder)) == ReadFile(file));
}

// A resumed training takes memory for the rows that were used, and goes on with the same bits.
TEST(RowsOnUse, AResumedTrainingTakesMemoryForUsedRowsAlone) {
  TrainConfig config = ConfigOf(400'000, 64);  // 200 MiB
  config.tables[0].optimizer = RowwiseAdagrad{.lr = 0.1f};
  CurveOfRanks(config, 2, PlanFor(config, 2, "row_wise"), TempPath("whole"));
  config.epochs = 1;
  CurveOfRanks(config, 2, PlanFor(config, 2, "row_wise"), TempPath("half"));
  config.epochs = 2;
  for (const int ranks : {2, 4}) {
    const int64_t before = MemoryOfProcess().bytes;
    RunLocalRanks(ranks, [&](Communicator& comm) {
      Context ctx({.threads = 1, .seed = config.seed});
      Trainer trainer(ctx, config, TrainingRanks{&comm, PlanFor(config, ranks, "row_wise")});
      ShardedCheckpoint saved(TempPath("half"));
      ASSERT_TRUE(trainer.Load(saved));
      RunTraining(trainer, DataSets(config, {}), {.checkpoint = TempPath("rest")});
      EXPECT_LT(MemoryOfProcess().bytes - before, int64_t{100} << 20);
    });
    if (ranks > 2) continue;
    EXPECT_TRUE(TensorsIn(Exported(TempPath("rest"))) == TensorsIn(Exported(TempPath("whole"))));
  }
  for (const char* const folder : {"whole", "half", "rest"}) {
    std::filesystem::remove_all(TempPath(folder));
    std::filesystem::remove(TempPath(folder) + ".safetensors");
  }
}

// A folder of ranks holds the rows in use (all rows would take 60 MiB), also when it is resharded
// and when a training reads it that has used more rows.
TEST(RowsOnUse, FoldersOfRanksHoldTheRowsInUse) {
  const TrainConfig config = ConfigOf(400'000, 8);
  const ShardingPlan plan = PlanFor(config, 2, "row_wise");
  constexpr double kMaxBytes = 4 << 20;
  const std::string saved = TempPath("few"), four = TempPath("few4"), again = TempPath("few_again");
  CurveOfRanks(config, 2, plan, saved);
  EXPECT_LT(BytesAt(saved), kMaxBytes);
  EXPECT_GE(BytesAt(saved), BytesOfCheckpoint(config, RowsOfParts::kInUse));
  EXPECT_GT(BytesOfCheckpoint(config), 10 * kMaxBytes);
  const auto all = TensorsIn(Exported(saved));
  EXPECT_EQ(all.at(RankingModel::TableParameterName("a")).size(), 400'000u * 8 * 4);
  ShardedCheckpoint from(saved);
  ReshardCheckpoint(from, PlanFor(config, 4, "table_wise"), four);
  EXPECT_LT(BytesAt(four), kMaxBytes);
  EXPECT_TRUE(TensorsIn(Exported(four)) == all);
  TrainConfig other = config;
  other.data.rows = 4000;  // which start more rows
  RunLocalRanks(2, [&](Communicator& comm) {
    Context ctx({.threads = 1, .seed = config.seed});
    Trainer trainer(ctx, config, TrainingRanks{&comm, plan});
    RunTraining(trainer, DataSets(other, {}), {});
    ShardedCheckpoint checkpoint(four);
    ASSERT_TRUE(trainer.Load(checkpoint));
    trainer.Save(again);
  });
  EXPECT_TRUE(TensorsIn(Exported(again)) == all);
}

// No row has started before the first step. A folder that holds all rows is read to the same.
TEST(RowsOnUse, FoldersOfRanksMayHoldNoRows) {
  const TrainConfig config = ConfigOf(2000, 8);
  const ShardingPlan plan = PlanFor(config, 2, "row_wise");
  const std::string fresh = TempPath("fresh"), all_rows = TempPath("fresh_all");
  for (const auto& [of, path] : {std::pair{config, fresh}, {WithAllRows(config), all_rows}})
    RunLocalRanks(2, [&](Communicator& comm) {
      Context ctx({.threads = 1, .seed = of.seed});
      Trainer trainer(ctx, of, TrainingRanks{&comm, plan});
      trainer.Save(path);
    });
  EXPECT_EQ(ShardedCheckpoint(fresh).index().tables.at("a").shards.at(0).rows_in_file(), 0);
  EXPECT_TRUE(TensorsIn(Exported(fresh)) == TensorsIn(Exported(all_rows)));
  const RunCurve curve = CurveOfRanks(config, 2, plan);
  for (const std::string& from : {fresh, all_rows})
    RunLocalRanks(2, [&](Communicator& comm) {
      const RunCurve again = CurveOf(config, TrainingRanks{&comm, plan}, "", from);
      EXPECT_EQ(again.losses, curve.losses) << from;
    });
}

// Rows that have not been used keep the values that they were saved with.
TEST(RowsOnUse, UnderAnotherSeedUnusedRowsAreTheSavedOnes) {
  const TrainConfig config = ConfigOf(2000, 8);
  const ShardingPlan plan = PlanFor(config, 2, "row_wise");
  CurveOfRanks(config, 2, plan, TempPath("saved"));
  RunLocalRanks(2, [&](Communicator& comm) {
    Context ctx({.threads = 1, .seed = config.seed + 1});
    Trainer trainer(ctx, config, TrainingRanks{&comm, plan});
    ShardedCheckpoint saved(TempPath("saved"));
    ASSERT_TRUE(trainer.Load(saved));
    trainer.Save(TempPath("again"));
  });
  EXPECT_TRUE(TensorsIn(Exported(TempPath("again"))) == TensorsIn(Exported(TempPath("saved"))));
}

}  // namespace
}  // namespace tessera
