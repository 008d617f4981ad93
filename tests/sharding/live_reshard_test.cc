// Tables moved between plans hold the bits that a checkpoint would have brought, and go on alike.
#include "sharding/live_reshard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "comm/local_communicator.h"
#include "sharding/checkpoint/state_rows.h"
#include "sharding/table_checkpoint.h"
#include "tests/sharding/testing/planned_tables.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using testing::Make;
using testing::PlanCase;
using testing::PlannedTables;
using testing::Plans;
using testing::Step;

constexpr int kWorld = testing::kPlannedRanks;

void ExpectSame(Context& ctx, ShardedTables& a, ShardedTables& b) {
  a.Flush(ctx);
  b.Flush(ctx);
  const auto rows = [&](const NamedTensor& part) {
    return RowsOfState(ctx, part, 0, part.tensor.dim(0)).ToHost();
  };
  const std::vector<ShardTensors> ours = ShardTensorsOf(a), theirs = ShardTensorsOf(b);
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t s = 0; s < ours.size(); ++s) {
    SCOPED_TRACE(Format("table {}, {}", ours[s].table, ours[s].shard));
    EXPECT_TRUE(SameBits(rows(ours[s].Weights()), rows(theirs[s].Weights())));
    for (size_t i = 0; i < ours[s].states.size(); ++i)
      EXPECT_TRUE(SameBits(rows(ours[s].states[i]), rows(theirs[s].states[i])))
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
      ShardedTables old_tables = Make(own, comm, from, PlannedTables());
      for (int64_t s = 0; s < 2; ++s) Step(own, old_tables, comm.rank(), s);
      SaveTables(own, folder.string(), old_tables, "");
      for (const PlanCase& to : Plans()) {
        SCOPED_TRACE(Format("from {} to {}, rank {}", from.name, to.name, comm.rank()));
        ShardedTables moved = Make(own, comm, to, PlannedTables()),
                      loaded = Make(own, comm, to, PlannedTables());
        ReshardTables(own, old_tables, moved);
        ShardedCheckpoint checkpoint(folder.string());
        LoadTables(own, checkpoint, loaded);
        EXPECT_EQ(moved.iter(), 2);
        ExpectSame(own, moved, loaded);
        Step(own, moved, comm.rank(), 2);
        Step(own, loaded, comm.rank(), 2);
        ExpectSame(own, moved, loaded);
      }
    });
  }
  std::filesystem::remove_all(folder);
}

// Moves tables of `configs` beside those that have all their rows in memory.
void ExpectMovedAlike(Device device, const std::vector<BaseEmbeddingConfig>& configs) {
  const PlanCase from = Plans()[0];
  RunLocalRanks(kWorld, [&](Communicator& comm) {
    Context own({.device = device, .threads = 1, .seed = 8}),
        other({.device = device, .threads = 1, .seed = 8});
    ShardedTables in_memory = Make(own, comm, from, PlannedTables()),
                  stored = Make(other, comm, from, configs);
    for (int64_t s = 0; s < 2; ++s) {
      Step(own, in_memory, comm.rank(), s);
      Step(other, stored, comm.rank(), s);
    }
    for (const PlanCase& to : Plans()) {
      SCOPED_TRACE(Format("to {}, rank {}", to.name, comm.rank()));
      ShardedTables expected = Make(own, comm, to, PlannedTables()),
                    got = Make(other, comm, to, configs);
      ReshardTables(own, in_memory, expected);
      ReshardTables(other, stored, got);
      ExpectSame(other, got, expected);
      Step(own, expected, comm.rank(), 2);
      Step(other, got, comm.rank(), 2);
      ExpectSame(other, got, expected);
    }
  });
}

TEST_P(LiveReshardTest, MovesTablesOnDisk) {
  std::vector<BaseEmbeddingConfig> on_disk = PlannedTables();
  for (BaseEmbeddingConfig& table : on_disk) table.location = EmbeddingLocation::kDisk;
  ExpectMovedAlike(device(), on_disk);
}

TEST_P(LiveReshardTest, MovesGrowingTables) {
  std::vector<BaseEmbeddingConfig> growing = PlannedTables();
  for (BaseEmbeddingConfig& table : growing) table.growing = true;
  ExpectMovedAlike(device(), growing);
}

TEST_P(LiveReshardTest, OtherTablesAreRefused) {
  RunLocalRanks(kWorld, [&](Communicator& comm) {
    Context own({.device = device(), .threads = 1, .seed = 8});
    std::vector<BaseEmbeddingConfig> others = PlannedTables();
    others[0].optimizer = Sgd{};
    ShardedTables from = Make(own, comm, Plans()[0], PlannedTables()),
                  to = Make(own, comm, Plans()[0], others);
    EXPECT_THROW(ReshardTables(own, from, to), Error);
  });
}

TESSERA_INSTANTIATE_DEVICES(LiveReshardTest);

}  // namespace
}  // namespace tessera
