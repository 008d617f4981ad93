#include "embedding/table/optimizer_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class OptimizerStateTest : public testing::DeviceTest {
 protected:
  Tensor Counting(const Shape& shape, DType type = DType::kF32) {
    std::vector<float> values(static_cast<size_t>(shape.numel()));
    std::iota(values.begin(), values.end(), 0.0f);
    return Tensor::From(ctx(), shape, values).To(ctx(), type);
  }
  // The states of a table [5, 4].
  std::vector<OptimizerState> States() {
    return {{"momentum1", Counting({5, 4}, DType::kBF16)}, {"momentum2", Counting({5})}};
  }
  std::vector<OptimizerStatePart> Parts(const std::vector<TablePart>& parts) {
    std::vector<OptimizerStatePart> result;
    for (const TablePart& part : parts)
      result.push_back({part, SplitOptimizerStates(ctx(), States(), part)});
    return result;
  }
};

TEST_P(OptimizerStateTest, PartsHaveTheirRowsAndColumnsAndShareNothing) {
  const std::vector<OptimizerState> states = States();
  const std::vector<OptimizerState> part = SplitOptimizerStates(ctx(), states, {3, 2, 1, 2});
  states[1].tensor.Fill(ctx(), -1);
  EXPECT_EQ(part[0].name, "momentum1");
  EXPECT_THAT(part[0].tensor.To(ctx(), DType::kF32).ToVector<float>(), ElementsAre(13, 14, 17, 18));
  EXPECT_THAT(part[1].tensor.ToVector<float>(), ElementsAre(3, 4));
  EXPECT_THROW(SplitOptimizerStates(ctx(), states, {3, 3, 0, 4}), Error);
  EXPECT_THROW(SplitOptimizerStates(ctx(), states, {0, 1, 2, 3}), Error);
}

TEST_P(OptimizerStateTest, MergingUndoesSplitting) {
  const std::vector<std::vector<TablePart>> splits = {
      {{0, 5, 0, 4}},                                             // whole
      {{0, 2, 0, 4}, {2, 0, 0, 4}, {2, 3, 0, 4}},                 // rows, one part empty
      {{0, 5, 3, 1}, {0, 5, 0, 3}},                               // columns, out of order
      {{0, 2, 0, 1}, {2, 3, 0, 1}, {0, 4, 1, 3}, {4, 1, 1, 3}}};  // both
  for (const std::vector<TablePart>& split : splits) {
    const std::vector<OptimizerState> merged = MergeOptimizerStates(ctx(), 5, 4, Parts(split));
    ASSERT_EQ(merged.size(), 2u);
    for (size_t s = 0; s < 2; ++s) {
      EXPECT_EQ(merged[s].name, States()[s].name);
      EXPECT_TRUE(SameBits(merged[s].tensor, States()[s].tensor)) << split.size() << " parts";
    }
  }
}

TEST_P(OptimizerStateTest, RefusesPartsThatDoNotMakeATable) {
  const auto merge = [&](const std::vector<TablePart>& split) {
    return [&, split] { MergeOptimizerStates(ctx(), 5, 4, Parts(split)); };
  };
  EXPECT_THAT(merge({{0, 3, 0, 4}, {2, 3, 0, 4}}),
              ThrowsMessage<Error>(HasSubstr("parts 0 and 1 overlap")));
  EXPECT_THAT(merge({{0, 3, 0, 4}}), ThrowsMessage<Error>(HasSubstr("elements of all parts")));
  std::vector<OptimizerStatePart> columns = Parts({{0, 5, 0, 2}, {0, 5, 2, 2}});
  columns[1].states[1].tensor.Fill(ctx(), 7);
  EXPECT_THAT([&] { MergeOptimizerStates(ctx(), 5, 4, columns); },
              ThrowsMessage<Error>(HasSubstr("momentum2: the columns of rows 0 to 5")));
  columns[1].states[1].name = "other";
  EXPECT_THROW(MergeOptimizerStates(ctx(), 5, 4, columns), Error);
}

TESSERA_INSTANTIATE_DEVICES(OptimizerStateTest);

}  // namespace
}  // namespace tessera
