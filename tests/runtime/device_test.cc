#include "runtime/device/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/check.h"
#include "runtime/base/isa.h"
#include "runtime/context.h"
#include "runtime/device/device_properties.h"
#include "runtime/device/dispatch.h"

namespace tessera {
namespace {

TEST(Device, NamesComeAndGo) {
  EXPECT_EQ(ParseDevice("cpu"), Device::Cpu());
  EXPECT_EQ(ParseDevice("cuda"), Device::Cuda(0));
  EXPECT_EQ(ToString(ParseDevice("cuda:3")), "cuda:3");
  for (const char* bad : {"", "gpu", "cuda:", "cuda:x", "cpu0"})
    EXPECT_THROW(ParseDevice(bad), Error) << bad;
}

TEST(Context, RefusesADeviceItCannotRunOn) {
  const int count = CudaDeviceCount();
  const Device missing = Device::Cuda(count);
  const char* why = !kWithCuda
                        ? "device cuda:0: this build of Tessera runs on the CPU only; to use a GPU"
                    : count == 0 ? "device cuda:0: this machine has no GPU to use"
                                 : "this machine has";
  EXPECT_THAT([&] { Context ctx({.device = missing}); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr(why)));
}

TEST(Isa, RefusesALevelThatTheCpuLacks) {
  EXPECT_NO_THROW(SetIsa(BestIsa()));
  EXPECT_EQ(ChosenIsa(), BestIsa());
  if (BestIsa() != IsaLevel::kAvx512) {
    EXPECT_THROW(SetIsa(IsaLevel::kAvx512), Error);
  }
}

}  // namespace
}  // namespace tessera
