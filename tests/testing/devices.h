#ifndef TESSERA_TESTS_TESTING_DEVICES_H_
#define TESSERA_TESTS_TESTING_DEVICES_H_
// One test body for every device: derive from DeviceTest, write TEST_P, and say
// TESSERA_INSTANTIATE_DEVICES. In a build with CUDA there is an instance on a GPU; without a GPU it
// is skipped and says so. Under --config=emulated that GPU is emulated on the CPU.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "runtime/device/device_properties.h"

namespace tessera::testing {

// Those of this build. Not inline: a test that does not ask for the kind of build itself is
// compiled once for all kinds.
std::vector<Device> AllDevices();

std::string DeviceName(const ::testing::TestParamInfo<Device>& info);

class DeviceTest : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (!on_cpu() && CudaDeviceCount() == 0)
      GTEST_SKIP() << "SKIPPED: this machine has no GPU; --config=emulated runs this without one";
    ctx_ = std::make_unique<Context>(ContextOptions{.device = device(), .threads = 2, .seed = 7});
  }
  Device device() const { return GetParam(); }
  bool on_cpu() const { return device() == Device::Cpu(); }
  Context& ctx() { return *ctx_; }

 private:
  std::unique_ptr<Context> ctx_;
};

}  // namespace tessera::testing

#define TESSERA_INSTANTIATE_DEVICES(suite)                                                 \
  INSTANTIATE_TEST_SUITE_P(, suite, ::testing::ValuesIn(::tessera::testing::AllDevices()), \
                           ::tessera::testing::DeviceName)

#endif  // TESSERA_TESTS_TESTING_DEVICES_H_
