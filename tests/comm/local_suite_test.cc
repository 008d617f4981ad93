// The suite of every backend, on ranks that are threads.
#include <gtest/gtest.h>

#include <tuple>

#include "comm/local_communicator.h"
#include "runtime/device/device_properties.h"
#include "tests/comm/suite.h"
#include "tests/testing/devices.h"

namespace tessera::testing {
namespace {

using Param = std::tuple<CommCase, int, Device>;

class LocalSuiteTest : public ::testing::TestWithParam<Param> {};

TEST_P(LocalSuiteTest, Runs) {
  const auto& [c, ranks, device] = GetParam();
  if (device != Device::Cpu() && CudaDeviceCount() == 0)
    GTEST_SKIP() << "SKIPPED: this machine has no GPU; --config=emulated runs this without one";
  RunLocalRanks(ranks, [&](Communicator& comm) {
    Context ctx({.device = device, .threads = 1});
    EXPECT_EQ(comm.backend(), "local");
    c.run(comm, ctx);
  });
}

std::string NameOf(const ::testing::TestParamInfo<Param>& info) {
  const auto& [c, ranks, device] = info.param;
  return std::string(c.name) + "_" + std::to_string(ranks) +
         (device == Device::Cpu() ? "_Cpu" : "_Cuda");
}

INSTANTIATE_TEST_SUITE_P(, LocalSuiteTest,
                         ::testing::Combine(::testing::ValuesIn(CommCases()),
                                            ::testing::Values(1, 2, 3, 4, 8),
                                            ::testing::ValuesIn(AllDevices())),
                         NameOf);

}  // namespace
}  // namespace tessera::testing
