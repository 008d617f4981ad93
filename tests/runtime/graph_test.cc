#include "runtime/graph.h"

#include <gmock/gmock.h>

#include <optional>

#include "runtime/fill_uniform.h"
#include "runtime/tensor.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class GraphTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (on_cpu()) GTEST_SKIP() << "SKIPPED: a CPU has no graphs";
  }
  CudaGraph Capture(const std::function<void()>& fn) { return CudaGraph::Capture(ctx(), fn); }
};

TEST(CudaGraph, IsNotForACpu) {
  Context cpu;
  EXPECT_THAT([&] { CudaGraph::Capture(cpu, [] {}); },
              ThrowsMessage<Error>(HasSubstr("the context works on cpu")));
}

TEST_P(GraphTest, LaunchesGiveWhatCallsGive) {
  const Tensor in = Tensor::From<float>(ctx(), {3}, {1, 2, 3}), out = Tensor::Zeros(ctx(), {3});
  const auto step = [&] {
    const Tensor halves = in.To(ctx(), DType::kF16);
    out.CopyFrom(ctx(), halves.To(ctx(), DType::kF32));
    in.Fill(ctx(), 7);
  };
  const CudaGraph graph = Capture(step);
  EXPECT_THAT(out.ToVector<float>(), Each(0));  // nothing ran
  graph.Launch(ctx());
  EXPECT_THAT(out.ToVector<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(in.ToVector<float>(), Each(7));
  in.CopyFrom(ctx(), Tensor::From<float>(ctx(), {3}, {4, 5, 6}));
  graph.Launch(ctx());
  EXPECT_THAT(out.ToVector<float>(), ElementsAre(4, 5, 6));
}

TEST_P(GraphTest, RandomNumbersAreRefused) {
  const Tensor out = Tensor::Zeros(ctx(), {3});
  EXPECT_THAT([&] { Capture([&] { FillUniform(ctx(), out, 0, 1); }); },
              ThrowsMessage<Error>(HasSubstr("FillUniform cannot be recorded in a CUDA graph")));
}

TEST_P(GraphTest, TensorsItMadeBelongToIt) {
  const Tensor in = Tensor::Full(ctx(), {100}, 1);
  Tensor made;
  std::optional<CudaGraph> graph = Capture([&] { made = in.Clone(ctx()); });
  for (const float value : {2.0f, 3.0f}) {
    in.Fill(ctx(), value);
    graph->Launch(ctx());
    EXPECT_THAT(made.ToVector<float>(), Each(value));
  }
  graph.reset();
  EXPECT_THAT(made.ToVector<float>(), Each(3));
}

// Memory that is given back while a graph is recorded, made before or meanwhile, may go to later
// recorded work, but to nothing else.
TEST_P(GraphTest, KeepsTheMemoryItWorksOn) {
  const int64_t before = ctx().allocator().stats().live_bytes;
  {
    Tensor early = Tensor::Full(ctx(), {1000}, 5);
    const Tensor out = Tensor::Zeros(ctx(), {1000});
    const CudaGraph graph = Capture([&] {
      Tensor copy = early.Clone(ctx());
      early = {};
      out.CopyFrom(ctx(), copy);
      copy = {};
      (void)Tensor::Full(ctx(), {1000}, 9);
    });
    EXPECT_EQ(ctx().allocator().stats().live_bytes - before, 3 * 4000);
    const Tensor other = Tensor::Full(ctx(), {1000}, -1);
    graph.Launch(ctx());
    EXPECT_THAT(out.ToVector<float>(), Each(5));
    EXPECT_THAT(other.ToVector<float>(), Each(-1));
  }
  EXPECT_EQ(ctx().allocator().stats().live_bytes, before);
}

// Given back on its own stream, it would come to be part of the graph there.
TEST_P(GraphTest, KeepsTheMemoryOfAnotherStreamThatItUses) {
  Context other({.device = device()});
  const Tensor out = Tensor::Zeros(ctx(), {1000});
  Tensor early = Tensor::Full(other, {1000}, 5);
  other.Sync();
  early.RecordStream(ctx());
  const CudaGraph graph = Capture([&] {
    out.CopyFrom(ctx(), early);
    early = {};
  });
  const Tensor next = Tensor::Full(other, {1000}, -1);
  other.Sync();
  graph.Launch(ctx());
  EXPECT_THAT(out.ToVector<float>(), Each(5));
}

TEST_P(GraphTest, OtherStreamsStayOutOfIt) {
  Context other({.device = device()});
  EXPECT_THAT([&] { Capture([&] { other.WaitFor(ctx()); }); },
              ThrowsMessage<Error>(HasSubstr("nothing outside a CUDA graph can wait for what was "
                                             "recorded into it on cuda:0")));
  EXPECT_THAT([&] { Capture([&] { ctx().WaitFor(other); }); },
              ThrowsMessage<Error>(HasSubstr("its stream cannot wait for work that was given to "
                                             "another stream before")));
  const Tensor t = Tensor::Full(ctx(), {1}, 3);  // both are as they were
  other.WaitFor(ctx());
  EXPECT_THAT(t.Clone(other).ToVector<float>(), ElementsAre(3));
}

TEST_P(GraphTest, KeepsACopyOfOrdinaryHostMemory) {
  Tensor from_vector, from_tensor;
  const CudaGraph graph = Capture([&] {
    from_vector = Tensor::From<int32_t>(ctx(), {1, 2});
    const Tensor more = Tensor::From<int32_t>(ctx(), {3, 4});
    Context cpu;
    from_tensor = Tensor::From<int32_t>(cpu, {5, 6}).Clone(ctx());
  });
  graph.Launch(ctx());
  EXPECT_THAT(from_vector.ToVector<int32_t>(), ElementsAre(1, 2));
  EXPECT_THAT(from_tensor.ToVector<int32_t>(), ElementsAre(5, 6));
}

TEST_P(GraphTest, ReadsPinnedMemoryAtEachLaunch) {
  const Tensor pinned = Tensor::EmptyPinned(ctx(), {1}), out = Tensor::Zeros(ctx(), {1});
  *pinned.data<float>() = 1;
  const CudaGraph graph = Capture([&] { out.CopyFrom(ctx(), pinned); });
  for (const float value : {2.0f, 3.0f}) {
    *pinned.data<float>() = value;
    graph.Launch(ctx());
    EXPECT_THAT(out.ToVector<float>(), ElementsAre(value));
  }
}

TEST_P(GraphTest, NothingMayWaitWhileOneIsRecorded) {
  const Tensor t = Tensor::Zeros(ctx(), {1});
  const auto refused = ThrowsMessage<Error>(
      AllOf(HasSubstr("while a CUDA graph was recorded: "),
            HasSubstr("nothing can wait for cuda:0 while a CUDA graph is recorded")));
  EXPECT_THAT([&] { Capture([&] { ctx().Sync(); }); }, refused);
  EXPECT_THAT([&] { Capture([&] { (void)t.ToVector<float>(); }); }, refused);
  EXPECT_THAT([&] { Capture([&] { ReadScalarSync(ctx(), t.data<float>()); }); }, refused);
  EXPECT_THAT([&] { Capture([&] { (void)t.To(ctx(), Device::Cpu()); }); }, refused);
  EXPECT_THAT([&] { Capture([&] { Capture([] {}); }); },
              ThrowsMessage<Error>(HasSubstr("a CUDA graph within another")));
  // The context is as it was.
  t.Fill(ctx(), 1);
  EXPECT_THAT(t.ToVector<float>(), ElementsAre(1));
}

TEST_P(GraphTest, IsLaunchedWhereItWasRecorded) {
  const CudaGraph graph = Capture([] {});
  Context other({.device = device()});
  EXPECT_THAT([&] { graph.Launch(other); },
              ThrowsMessage<Error>(HasSubstr("on the context that recorded it")));
}

TESSERA_INSTANTIATE_DEVICES(GraphTest);

}  // namespace
}  // namespace tessera
