#include "train/auto_shard.h"

#include <gtest/gtest.h>

#include "comm/local_communicator.h"
#include "planner/calibration/machine_profile_json.h"
#include "planner/model/shipped_topologies.h"
#include "sharding/plan/plan_json.h"
#include "tests/planner/testing/made_up_profile.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/small_run.h"
#include "train/model_config.h"
#include "train/planner_model.h"

namespace tessera {
namespace {

using testing::ErrorOf;

RankingModelConfig SmallModel() { return RankingModelConfigOf(testing::SmallConfig()); }
TopologyFile Machine(int ranks) {
  return {.topology = ShippedTopology("cpu", ranks), .profile = ""};
}

TEST(AutoShard, RanksHoldWhatThePlannerFinds) {
  const RankingModelConfig config = SmallModel();
  const std::string expected =
      PlanToJson(FindPlan(PlannerModelOf(config, 32, 2, ComputeDevice::kCpu), Machine(2)));
  RunLocalRanks(2, [&](Communicator& comm) {
    Context ctx({.threads = 1, .seed = 1});
    RankingModel model = AutoShard(ctx, config, comm, Machine(2), {.batch_size = 32});
    ASSERT_NE(model.sharded(), nullptr);
    int64_t mine = 0;
    for (const HeldShard& held : model.sharded()->tables().shards())
      mine += held.shard.rows * held.shard.columns;
    const std::vector<std::string> all =
        comm.GatherStringsSync(std::to_string(mine), "elements held");
    int64_t sum = 0;
    for (const std::string& elements : all) sum += std::stoll(elements);
    EXPECT_GE(sum, (60 + 50 + 3) * 4);  // a table of all ranks counts for each
    const ShardingPlan plan = PlanOnLeader(comm, [&] {
      return FindPlan(PlannerModelOf(config, 32, 2, ComputeDevice::kCpu), Machine(2));
    });
    EXPECT_EQ(PlanToJson(plan), expected);
  });
}

// The profile has a price of fp16, and none of bf16.
TEST(AutoShard, TheWorkOfCodecsIsPricedWhereItWasMeasured) {
  const PlannerModel model = PlannerModelOf(SmallModel(), 32, 4, ComputeDevice::kCpu);
  TopologyFile machine = Machine(4);
  machine.profile = MachineProfileToJson(testing::MadeUpProfile());
  const auto rating = [&](const char* codecs) {
    PlanResult found;
    FindPlan(model, machine, "", &found, {.codecs = ParseWireCodecs(codecs)});
    return found.rating;
  };
  EXPECT_NE(rating("fp16"), rating("fp32"));
  EXPECT_EQ(UnpricedCodec(testing::MadeUpProfile(), ParseWireCodecs("fp16")), std::nullopt);
  EXPECT_EQ(UnpricedCodec(testing::MadeUpProfile(), ParseWireCodecs("fp16/bf16"))->type,
            WireType::kBf16);
}

// Only rank 0 is asked, and all ranks get its answer.
TEST(AutoShard, OneRankPlansForAll) {
  const PlannerModel model = PlannerModelOf(SmallModel(), 32, 3, ComputeDevice::kCpu);
  int asked[3] = {};
  std::string plans[3];
  RunLocalRanks(3, [&](Communicator& comm) {
    const int rank = comm.rank();
    plans[rank] = PlanToJson(PlanOnLeader(comm, [&] {
      ++asked[rank];
      return FindPlan(model, Machine(3));
    }));
  });
  EXPECT_EQ(asked[0], 1);
  EXPECT_EQ(asked[1] + asked[2], 0);
  EXPECT_EQ(plans[1], plans[0]);
  EXPECT_EQ(plans[2], plans[0]);
}

TEST(AutoShard, EveryRankHearsWhyNot) {
  RunLocalRanks(2, [&](Communicator& comm) {
    const auto plan_for = [&](TopologyFile machine) {
      return ErrorOf([&] {
        PlanOnLeader(comm, [&] {
          return FindPlan(PlannerModelOf(SmallModel(), 32, 2, ComputeDevice::kCpu), machine);
        });
      });
    };
    EXPECT_NE(plan_for(Machine(3)).find("ranks of the plan"), std::string::npos);
    TopologyFile small = Machine(2);
    small.topology.ddr_cap = 100;
    EXPECT_NE(plan_for(small), "");
  });
}

}  // namespace
}  // namespace tessera
