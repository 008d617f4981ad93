#include "planner/calibration/calibrate.h"

#include <gtest/gtest.h>

#include "comm/local_communicator.h"
#include "comm/slow_communicator.h"
#include "planner/calibration/machine_profile_json.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

// Small enough for the emulator.
CalibrateOptions Small() {
  CalibrateOptions options;
  options.sizes = {.seconds_a_point = 0,
                   .most_ids = 2048,
                   .largest_table_bytes = 1 << 20,
                   .largest_message_bytes = 1 << 17};
  options.cores = 2;
  return options;
}

class CalibrateTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(CalibrateTest);

TEST_P(CalibrateTest, FillsEveryPartAlikeOnAllRanks) {
  constexpr int kRanks = 3;  // one of them measures collectives alone
  std::vector<std::string> profiles(kRanks);
  double done = 0;
  RunLocalRanks(kRanks, [&](Communicator& comm) {
    Context ctx({.device = GetParam(), .threads = 1});
    CalibrateOptions options = Small();
    options.progress = [&](const std::string& what, double share) {
      EXPECT_FALSE(what.empty());
      EXPECT_GE(share, done);
      EXPECT_LE(share, 1);
      done = share;
    };
    profiles[static_cast<size_t>(comm.rank())] =
        MachineProfileToJson(Calibrate(ctx, comm, options));
  });
  EXPECT_EQ(profiles[1], profiles[0]);
  EXPECT_EQ(profiles[2], profiles[0]);
  EXPECT_GT(done, 0.5);

  const MachineProfile p = MachineProfileFromJson(profiles[0], "");  // nothing negative or infinite
  EXPECT_EQ(p.device, GetParam() == Device::Cpu() ? "cpu" : "cuda");
  EXPECT_EQ(p.ranks, kRanks);
  EXPECT_EQ(p.measuring_ranks, 2);
  EXPECT_EQ(p.lookup.rows.size(), 3u);
  EXPECT_EQ(p.lookup.rows.at(DType::kF32).size(), 4u);
  EXPECT_EQ(p.update.rows.size(), 4u);
  EXPECT_EQ(p.update.row_type.size(), 2u);
  EXPECT_EQ(p.tiers.size(), GetParam() == Device::Cpu() ? 2u : 3u);
  EXPECT_EQ(p.codecs.size(), 7u);
  EXPECT_EQ(p.dense.size(), 4u);
  EXPECT_EQ(p.collectives.size(), 8u);  // four, over 2 and over 3 ranks
  EXPECT_EQ(p.steps.size(), 2u);
  EXPECT_GT(Price(p.input_dist, {1, 1, 1, 1, 1, 1, 1, 1}), 0);
  EXPECT_GT(Price(p.output_dist, {1, 1, 1, 1, 1}), 0);
  EXPECT_GT(Price(p.gradient_dist, {1, 1, 1, 1, 1}), 0);
  for (const CollectivePrices& c : p.collectives)
    for (const CostPoint& point : c.by_bytes) EXPECT_GT(point.seconds, 0);
}

TEST(Calibrate, MeasuresTheLinksOfNodes) {
  RunLocalRanks(4, [&](Communicator& local) {
    Context ctx({.threads = 1});
    const auto comm = MakeSlowCommunicator(local.Split(0, local.rank()),
                                           SlowNodes{.local_size = 2, .between = {0.001, 0}});
    CalibrateOptions options = Small();
    options.local_size = 2;
    const MachineProfile p = Calibrate(ctx, *comm, options);
    const auto seconds = [&](CollectiveOp op) {
      for (const CollectivePrices& c : p.collectives)
        if (c.op == op) return c.ranks == 2 ? c.by_bytes.front().seconds : -1;
      return -2.0;
    };
    EXPECT_GE(seconds(CollectiveOp::kAllToAllBetween), 0.001);
    EXPECT_GT(seconds(CollectiveOp::kAllToAllInside), 0);
  });
}

TEST(Calibrate, OneRankHasNoExchanges) {
  RunLocalRanks(1, [&](Communicator& comm) {
    Context ctx({.threads = 1});
    const MachineProfile p = Calibrate(ctx, comm, Small());
    EXPECT_EQ(p.measuring_ranks, 1);
    EXPECT_EQ(CollectiveSeconds(p, CollectiveOp::kAllToAll, 1, 1e6), 0);
    ASSERT_EQ(p.steps.size(), 1u);
    EXPECT_EQ(p.steps[0].ranks, 1);
  });
}

}  // namespace
}  // namespace tessera
