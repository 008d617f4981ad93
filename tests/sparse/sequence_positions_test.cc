#include "sparse/sequence_positions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

class SequencePositionsTest : public testing::DeviceTest {
 protected:
  // Bags a: [1 2] [] [3], hist: [4 5 6] [7] [].
  KeyedJaggedTensor Features(DType dtype = DType::kI64, Variable weights = {}) {
    return KeyedJaggedTensor::FromLengthsSync(
        {"a", "hist"}, Tensor::From<int64_t>(ctx_, {1, 2, 3, 4, 5, 6, 7}).To(ctx_, dtype),
        Tensor::From<int64_t>(ctx_, {2, 0, 1, 3, 1, 0}), std::move(weights));
  }
  Context ctx_{{.device = device()}};
};
TESSERA_INSTANTIATE_DEVICES(SequencePositionsTest);

TEST_P(SequencePositionsTest, EachPositionIsAFeature) {
  for (const DType dtype : {DType::kI32, DType::kI64}) {
    const KeyedJaggedTensor split = SplitIntoPositions(ctx_, Features(dtype), {{"hist", 4}});
    EXPECT_EQ(split.values().dtype(), dtype);
    EXPECT_EQ(split.values().device(), device());
    EXPECT_EQ(ToString(ctx_, split),
              "KeyedJaggedTensor({\n"
              "    \"a\": [[1, 2], [], [3]],\n"
              "    \"hist[0]\": [[4], [7], []],\n"
              "    \"hist[1]\": [[5], [], []],\n"
              "    \"hist[2]\": [[6], [], []],\n"
              "    \"hist[3]\": [[], [], []]\n"
              "})\n");
    EXPECT_TRUE(KjtIsEqual(ctx_, SplitIntoPositions(ctx_, split, {{"hist", 4}}), split));
  }
}

TEST_P(SequencePositionsTest, IdsKeepTheirWeights) {
  const KeyedJaggedTensor split = SplitIntoPositions(
      ctx_, Features(DType::kI64, Tensor::From<float>(ctx_, {.1f, .2f, .3f, .4f, .5f, .6f, .7f})),
      {{"a", 2}, {"hist", 3}});
  EXPECT_EQ(split.values().ToVector<int64_t>(), (std::vector<int64_t>{1, 3, 2, 4, 7, 5, 6}));
  EXPECT_EQ(split.weights().value().ToVector<float>(),
            (std::vector<float>{.1f, .3f, .2f, .4f, .7f, .5f, .6f}));
}

TEST_P(SequencePositionsTest, WhatCannotBeSplitIsNamed) {
  const auto error = [&](const KeyedJaggedTensor& features, const char* key, int64_t positions) {
    return ErrorOf([&] { SplitIntoPositions(ctx_, features, {{key, positions}}); });
  };
  EXPECT_THAT(error(Features(), "hist", 2),
              HasSubstr("feature hist: expected at most 2 ids in a bag, as many as it has "
                        "positions, got 3 in bag 0"));
  EXPECT_THAT(error(Features(), "b", 2), HasSubstr("feature b is missing"));
  EXPECT_THAT(error(Features(DType::kI64, Variable(Tensor::Full(ctx_, {7}, 1), true)), "hist", 3),
              HasSubstr("their weights need a gradient"));
}

TEST_P(SequencePositionsTest, ABatchWithoutExamples) {
  const KeyedJaggedTensor none = KeyedJaggedTensor::FromLengthsSync(
      {"a", "hist"}, Tensor::Empty(ctx_, {0}, DType::kI64), Tensor::Empty(ctx_, {0}, DType::kI64));
  const KeyedJaggedTensor split = SplitIntoPositions(ctx_, none, {{"hist", 2}});
  EXPECT_EQ(split.keys(), (std::vector<std::string>{"a", "hist[0]", "hist[1]"}));
  EXPECT_EQ(split.stride(), 0);
}

}  // namespace
}  // namespace tessera
