// Streams, events, the device's allocator, pinned memory and moves between devices.
#include <gmock/gmock.h>

#include "runtime/tensor.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class DeviceMemoryTest : public testing::DeviceTest {};

TEST_P(DeviceMemoryTest, TensorsMoveBetweenDevices) {
  Context cpu;
  const Tensor host = Tensor::From<float>(cpu, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor there = on_cpu() ? host.Clone(ctx()) : host.To(ctx(), device());
  EXPECT_EQ(there.device(), device());
  EXPECT_THAT(there.Narrow(1, 1, 2).To(ctx(), Device::Cpu()).ToVector<float>(),
              ElementsAre(2, 3, 5, 6));
  // A part of a tensor, in both directions.
  there.Narrow(1, 0, 1).CopyFrom(ctx(), host.Narrow(1, 2, 1));
  EXPECT_THAT(there.ToVector<float>(), ElementsAre(3, 2, 3, 6, 5, 6));
  host.Narrow(1, 1, 1).CopyFrom(cpu, there.Narrow(1, 0, 1));
  EXPECT_THAT(host.ToVector<float>(), ElementsAre(1, 3, 3, 4, 6, 6));
}

TEST_P(DeviceMemoryTest, CopyFromSaysWhichShapeCame) {
  const Tensor to = Tensor::Zeros(ctx(), {2, 3});
  EXPECT_THAT([&] { to.CopyFrom(ctx(), Tensor::Zeros(ctx(), {4})); },
              ThrowsMessage<Error>(HasSubstr("CopyFrom: expected [2, 3], got [4]")));
}

TEST_P(DeviceMemoryTest, RefusesTensorsOfAnotherDevice) {
  Context cpu;
  const Tensor host = Tensor::Zeros(cpu, {2});
  if (on_cpu()) {
    EXPECT_NO_THROW(host.Fill(ctx(), 1));
    return;
  }
  EXPECT_THAT([&] { host.Fill(ctx(), 1); },
              ThrowsMessage<Error>(
                  HasSubstr("Fill: a tensor [2] lies on cpu, but the context works on cuda:0")));
  EXPECT_THAT([&] { (void)Tensor::Zeros(ctx(), {2}).span<float>(); },
              ThrowsMessage<Error>(HasSubstr("copy it to the host first")));
}

TEST_P(DeviceMemoryTest, CountsWhatIsHeld) {
  Allocator& allocator = ctx().allocator();
  const AllocatorStats before = allocator.stats();
  {
    const Tensor t = Tensor::Empty(ctx(), {1 << 20}, DType::kU8);
    EXPECT_EQ(allocator.stats().live_bytes - before.live_bytes, 1 << 20);
    EXPECT_EQ(allocator.stats().allocations - before.allocations, 1);
    EXPECT_GE(allocator.stats().peak_bytes, allocator.stats().live_bytes);
  }
  EXPECT_EQ(allocator.stats().live_bytes, before.live_bytes);
}

TEST_P(DeviceMemoryTest, OutOfMemorySaysWhoAskedForWhatAndWhatIsHeld) {
  if (on_cpu()) GTEST_SKIP() << "SKIPPED: the host's memory is not to be exhausted by a test";
  const Tensor held = Tensor::Empty(ctx(), {1000});
  EXPECT_THAT([&] { Tensor::Empty(ctx(), {int64_t{1} << 42}); },
              ThrowsMessage<Error>(AllOf(
                  HasSubstr("tensor [4398046511104] of f32: out of memory on cuda:0: asked for "
                            "17592186044416 bytes; Tessera holds"),
                  HasSubstr("live bytes"), HasSubstr("bytes free"))));
  EXPECT_NO_THROW(Tensor::Empty(ctx(), {1000}));
}

// Two contexts, one after another by an event: without WaitFor the second would read what is not
// there yet; without RecordStream its memory could go to another before it is read.
TEST_P(DeviceMemoryTest, StreamsWaitForEachOther) {
  Context other({.device = device()});
  for (int round = 0; round < 5; ++round) {
    Tensor made = Tensor::Full(ctx(), {1000}, round);
    other.WaitFor(ctx());
    const Tensor read = made.Clone(other);
    made.RecordStream(other);
    made = {};
    const Tensor next = Tensor::Full(ctx(), {1000}, -1.0);
    EXPECT_THAT(read.ToVector<float>(), ::testing::Each(static_cast<float>(round)));
  }
}

TEST_P(DeviceMemoryTest, PinnedMemoryIsReusedOnlyAfterItsCopies) {
  std::vector<Tensor> copies;
  for (int i = 0; i < 4; ++i) {
    const Tensor staged = Tensor::EmptyPinned(ctx(), {100});
    std::fill_n(staged.data<float>(), 100, static_cast<float>(i));
    copies.push_back(staged.Clone(ctx()));
  }
  for (int i = 0; i < 4; ++i)
    EXPECT_THAT(copies[static_cast<size_t>(i)].ToVector<float>(),
                ::testing::Each(static_cast<float>(i)));
}

TEST_P(DeviceMemoryTest, EventsTellTime) {
  if (on_cpu()) GTEST_SKIP() << "SKIPPED: a CPU has no streams";
  const Event begin = Event::Record(ctx().stream());
  const Tensor t = Tensor::Zeros(ctx(), {1 << 16});
  const Event end = Event::Record(ctx().stream());
  EXPECT_GE(Event::SecondsBetween(begin, end), 0.0);
  EXPECT_TRUE(begin.done());
  EXPECT_TRUE(end.done());
}

TEST_P(DeviceMemoryTest, UniformNumbersAreThoseOfTheCpu) {
  Context cpu({.seed = 7});
  const Tensor expected = Tensor::Empty(cpu, {1001}), got = Tensor::Empty(ctx(), {1001});
  FillUniform(cpu, expected, -0.3f, 0.7f);
  FillUniform(ctx(), got, -0.3f, 0.7f);
  EXPECT_TRUE(SameBits(expected, got.To(ctx(), Device::Cpu())));
}

TESSERA_INSTANTIATE_DEVICES(DeviceMemoryTest);

}  // namespace
}  // namespace tessera
