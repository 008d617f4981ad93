// Batches through stages: order, ends, failures, and how far stages go.
#include "train/pipeline/staged_train_pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <numeric>

#include "runtime/tensor.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using Stages = std::vector<PipelineStage<int>>;

// 0, 1, …, n − 1; counts what was read.
std::function<std::optional<int>()> CountTo(int n, std::atomic<int>* read = nullptr) {
  return [n, next = 0, read]() mutable -> std::optional<int> {
    if (next == n) return std::nullopt;
    if (read != nullptr) ++*read;
    return next++;
  };
}

std::vector<int> All(StagedTrainPipeline<int>& pipeline) {
  std::vector<int> values;
  while (const std::optional<int> value = pipeline.Next()) values.push_back(*value);
  return values;
}

std::string ErrorOfNext(StagedTrainPipeline<int>& pipeline) {
  try {
    pipeline.Next();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

class StagedTrainPipelineTest : public ::testing::Test {
 protected:
  Context ctx_{{.threads = 1}};
};

TEST_F(StagedTrainPipelineTest, EveryBatchPassesAllStagesInOrder) {
  for (const int n : {0, 1, 2, 3, 50}) {
    StagedTrainPipeline<int> pipeline(ctx_, CountTo(n),
                                      Stages{{"double", [](Context&, int& x) { x *= 2; }},
                                             {"next", [](Context&, int& x) { x += 1; }},
                                             {"square", [](Context&, int& x) { x *= x; }}});
    std::vector<int> expected;
    for (int i = 0; i < n; ++i) expected.push_back((2 * i + 1) * (2 * i + 1));
    EXPECT_EQ(All(pipeline), expected);
    EXPECT_FALSE(pipeline.Next());  // and again
  }
}

TEST_F(StagedTrainPipelineTest, StagesWorkAtTheSameTime) {
  // Each stage waits for the other to be at the batch beside its own: if they ran in turn, they
  // would wait forever.
  std::promise<void> first_at_1, second_at_0;
  StagedTrainPipeline<int> pipeline(ctx_, CountTo(2),
                                    Stages{{"first",
                                            [&](Context&, int& x) {
                                              if (x != 1) return;
                                              first_at_1.set_value();
                                              second_at_0.get_future().wait();
                                            }},
                                           {"second", [&](Context&, int& x) {
                                              if (x != 0) return;
                                              second_at_0.set_value();
                                              first_at_1.get_future().wait();
                                            }}});
  EXPECT_EQ(All(pipeline), (std::vector<int>{0, 1}));
}

TEST_F(StagedTrainPipelineTest, StagesGoAsFarAsTheyOwe) {
  for (const int calls : {0, 1, 5}) {
    std::atomic<int> read = 0, first = 0, second = 0;
    {
      StagedTrainPipeline<int> pipeline(ctx_, CountTo(100, &read),
                                        Stages{{"first", [&](Context&, int&) { ++first; }},
                                               {"second", [&](Context&, int&) { ++second; }}});
      for (int i = 0; i < calls; ++i) EXPECT_EQ(pipeline.Next(), i);
    }
    EXPECT_EQ(read, calls + 2);
    EXPECT_EQ(first, calls + 2);
    EXPECT_EQ(second, calls + 1);
  }
}

TEST_F(StagedTrainPipelineTest, StopReadingGivesWhatIsOwed) {
  for (const int calls : {0, 1, 4}) {
    StagedTrainPipeline<int> pipeline(
        ctx_, CountTo(100),
        Stages{{"first", [](Context&, int&) {}}, {"second", [](Context&, int&) {}}});
    for (int i = 0; i < calls; ++i) pipeline.Next();
    pipeline.StopReading();
    std::vector<int> expected(2);
    std::iota(expected.begin(), expected.end(), calls);
    EXPECT_EQ(All(pipeline), expected);
  }
}

TEST_F(StagedTrainPipelineTest, AFailureComesAfterTheBatchesBeforeItAndAgain) {
  for (const int failing : {0, 1, 2}) {
    Stages stages;
    for (int s = 0; s < 3; ++s)
      stages.push_back({"stage" + std::to_string(s), [s, failing](Context&, int& x) {
                          if (s == failing && x == 4) throw Error("stage failed at 4");
                        }});
    StagedTrainPipeline<int> pipeline(ctx_, CountTo(100), stages);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(pipeline.Next(), i);
    EXPECT_EQ(ErrorOfNext(pipeline), "stage failed at 4");
    EXPECT_EQ(ErrorOfNext(pipeline), "stage failed at 4");
  }
}

TEST_F(StagedTrainPipelineTest, AFailingSourceToo) {
  StagedTrainPipeline<int> pipeline(
      ctx_,
      [n = 0]() mutable -> std::optional<int> {
        if (n == 3) throw Error("line 3 is bad");
        return n++;
      },
      Stages{{"copy", [](Context&, int&) {}}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pipeline.Next(), i);
  EXPECT_EQ(ErrorOfNext(pipeline), "line 3 is bad");
}

TEST_F(StagedTrainPipelineTest, LeavingBeforeAFailureWasSeen) {
  StagedTrainPipeline<int> pipeline(ctx_, CountTo(100),
                                    Stages{{"copy", [](Context&, int& x) {
                                              if (x == 1) throw Error("nobody hears of this");
                                            }}});
  EXPECT_EQ(pipeline.Next(), 0);
}

// Numbers that are made on one stream, added to on another, and read on a third.
struct Numbers {
  Tensor tensor;
  void RecordStream(const Context& ctx) const { tensor.RecordStream(ctx); }
};

class StagedTrainPipelineDeviceTest : public testing::DeviceTest {};

TEST_P(StagedTrainPipelineDeviceTest, StreamsWaitForEachOther) {
  constexpr int64_t kNumbers = 1000;
  StagedTrainPipeline<Numbers> pipeline(
      ctx(),
      [n = 0]() mutable -> std::optional<Numbers> {
        if (n == 6) return std::nullopt;
        Tensor host = Tensor::EmptyHost({kNumbers});
        for (float& x : host.span<float>()) x = static_cast<float>(n);
        ++n;
        return Numbers{host};
      },
      {{"copy", [](Context& on, Numbers& x) { x.tensor = x.tensor.To(on, on.device()).Clone(on); }},
       {"copy again", [](Context& on, Numbers& x) { x.tensor = x.tensor.Clone(on); }}});
  float expected = 0;
  while (const std::optional<Numbers> numbers = pipeline.Next()) {
    const Tensor here = numbers->tensor.Clone(ctx());
    for (const float x : here.ToVector<float>()) ASSERT_EQ(x, expected);
    ++expected;
  }
  EXPECT_EQ(expected, 6);
}

TESSERA_INSTANTIATE_DEVICES(StagedTrainPipelineDeviceTest);

}  // namespace
}  // namespace tessera
