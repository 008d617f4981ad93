// The suite of every backend, on ranks that are processes.
#include <gtest/gtest.h>

#include <tuple>

#include "runtime/device/device_properties.h"
#include "tests/comm/mpi_main.h"
#include "tests/comm/suite.h"
#include "tests/testing/devices.h"

namespace tessera::testing {
namespace {

using Param = std::tuple<CommCase, Device>;

class MpiSuiteTest : public ::testing::TestWithParam<Param> {};

TEST_P(MpiSuiteTest, Runs) {
  const auto& [c, device] = GetParam();
  if (device != Device::Cpu() && CudaDeviceCount() == 0)
    GTEST_SKIP() << "SKIPPED: this machine has no GPU; --config=emulated runs this without one";
  Context ctx({.device = device, .threads = 1});
  EXPECT_EQ(MpiWorld().backend(), "mpi");
  c.run(MpiWorld(), ctx);
}

INSTANTIATE_TEST_SUITE_P(, MpiSuiteTest,
                         ::testing::Combine(::testing::ValuesIn(CommCases()),
                                            ::testing::ValuesIn(AllDevices())),
                         [](const ::testing::TestParamInfo<Param>& info) {
                           const bool on_cpu = std::get<1>(info.param) == Device::Cpu();
                           return std::string(std::get<0>(info.param).name) +
                                  (on_cpu ? "_Cpu" : "_Cuda");
                         });

}  // namespace
}  // namespace tessera::testing
