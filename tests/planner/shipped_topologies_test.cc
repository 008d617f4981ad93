#include "planner/model/shipped_topologies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/check.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ShippedTopologiesTest, EveryNameIsAMachine) {
  EXPECT_THAT(ShippedTopologyNames(), ElementsAre("cpu", "a100", "h100", "h200"));
  for (const std::string& name : ShippedTopologyNames())
    for (const int ranks : {1, 3, 8, 16}) {
      const Topology t = ShippedTopology(name, ranks);
      EXPECT_EQ(t.world_size, ranks);
      EXPECT_EQ(t.compute_device, name == "cpu" ? ComputeDevice::kCpu : ComputeDevice::kCuda);
    }
  EXPECT_EQ(ShippedTopology("h100", 16).local_world_size, 8);
  EXPECT_EQ(ShippedTopology("cpu", 16).local_world_size, 16);
  EXPECT_EQ(ShippedTopology("h100", 3).local_world_size, 3);
  EXPECT_EQ(ShippedTopology("h100", 16, 4).local_world_size, 4);
  EXPECT_GT(ShippedTopology("h200", 8).hbm_cap, ShippedTopology("h100", 8).hbm_cap);
}

TEST(ShippedTopologiesTest, OthersAreErrors) {
  EXPECT_THAT(
      [] { ShippedTopology("v100", 1); },
      ThrowsMessage<Error>(HasSubstr("no machine is called 'v100' (did you mean 'a100'?); there "
                                     "are cpu, a100, h100, h200")));
  EXPECT_THAT([] { ShippedTopology("h100", 20); },
              ThrowsMessage<Error>(HasSubstr("20 ranks of h100, whose nodes have 8 each")));
  EXPECT_THAT([] { ShippedTopology("h100", 8, 3); },
              ThrowsMessage<Error>(HasSubstr("divides world_size 8")));
}

}  // namespace
}  // namespace tessera
