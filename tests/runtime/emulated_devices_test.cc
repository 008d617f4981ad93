// Several devices, and threads that wait for one another, as the emulator has them.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>

#include "runtime/tensor.h"
#include "tests/testing/error_of.h"
#include "tools/emulation/emulation.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class EmulatedDevicesTest : public ::testing::Test {
 protected:
  void SetUp() override { cuda_emulation::SetDeviceCount(3); }
  void TearDown() override { cuda_emulation::SetPinnedHook({}); }
};

TEST_F(EmulatedDevicesTest, EveryOtherDeviceMayTouchThePool) {
  Context ctx({.device = Device::Cuda(1)});
  (void)Tensor::Zeros(ctx, {3});
  EXPECT_THAT(cuda_emulation::PeersOfPool(1), ElementsAre(0, 2));
}

TEST_F(EmulatedDevicesTest, AMissingDeviceIsRefusedWithTheirNumber) {
  const auto refusal = [](int count) {
    cuda_emulation::SetDeviceCount(count);
    return ErrorOf([&] { Context ctx({.device = Device::Cuda(3)}); });
  };
  EXPECT_THAT(refusal(1), StartsWith("device cuda:3: this machine has 1 GPU ("));
  EXPECT_THAT(refusal(3), StartsWith("device cuda:3: this machine has 3 GPUs ("));
}

TEST_F(EmulatedDevicesTest, AccessOfPeersCanBeTurnedOff) {
  setenv("TESSERA_PEER_ACCESS", "0", 1);
  Context ctx({.device = Device::Cuda(2)});
  (void)Tensor::Zeros(ctx, {3});
  EXPECT_THAT(cuda_emulation::PeersOfPool(2), IsEmpty());
}

// The system's calls may wait for a kernel that waits for another thread.
TEST_F(EmulatedDevicesTest, PinnedMemoryIsTakenWhileOthersTakeSome) {
  const auto others_go_on = [] {
    auto done = std::make_shared<std::promise<void>>();
    std::future<void> waited = done->get_future();
    std::thread([done] {
      (void)PinnedAllocator().stats();
      done->set_value();
    }).detach();
    return waited.wait_for(std::chrono::minutes(2)) == std::future_status::ready;
  };
  int calls = 0;
  cuda_emulation::SetPinnedHook([&] {
    ++calls;
    EXPECT_TRUE(others_go_on());
  });
  Context ctx({.device = Device::Cuda()});
  (void)Tensor::EmptyPinned(ctx, {100 << 20}, DType::kU8);
  EXPECT_EQ(calls, 2);  // taken, and given back, as it is too large to keep
}

TEST_F(EmulatedDevicesTest, AnyThreadMayWaitForAnyDevice) {
  Context ctx({.device = Device::Cuda(1)});
  (void)Tensor::Zeros(ctx, {3});
  const Event event = Event::Record(ctx.stream());
  const int64_t before = cuda_emulation::Stats().foreign_waits;
  std::thread([&] {  // its device is the first
    EXPECT_FALSE(event.done());
    event.Sync();
    ctx.stream().Sync();
  })
      .join();
  EXPECT_EQ(cuda_emulation::Stats().foreign_waits, before);
}

}  // namespace
}  // namespace tessera
