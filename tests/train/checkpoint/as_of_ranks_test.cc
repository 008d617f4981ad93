#include "train/checkpoint/as_of_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/ranking_model.h"
#include "sharding/plan/plan_makers.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::TempPath;

// Table "a", [6, 8], with a number a row and one a weight; a number of the whole table; a dense
// part.
class AsOfRanksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    config_.tables.push_back({});
    config_.tables[0].name = "a";
    config_.tables[0].num_embeddings = 6;
    config_.tables[0].embedding_dim = 8;
  }

  Tensor Counted(Shape shape, float from) {
    const Tensor tensor = Tensor::EmptyHost(shape, DType::kF32);
    for (float& value : tensor.span<float>()) value = from++;
    return tensor;
  }

  Checkpoint Written(bool with_states) {
    std::vector<NamedTensor> state = {{parameter_, Counted({6, 8}, 0)},
                                      {"over.bias", Counted({3}, 7)}};
    if (with_states) {
      state.push_back({OptimizerStateName(parameter_, "row"), Counted({6}, 100)});
      state.push_back({OptimizerStateName(parameter_, "element"), Counted({6, 8}, 200)});
      state.push_back({OptimizerStateName(parameter_, "table"), Counted({1}, 300)});
    }
    WriteCheckpoint(ctx_, TempPath("of_ranks"), state, {.step = 3, .iter = 4}, "");
    return ReadCheckpoint(TempPath("of_ranks"));
  }

  Context ctx_{{.threads = 1}};
  const std::string parameter_ = RankingModel::TableParameterName("a");
  TrainConfig config_;
};

TEST_F(AsOfRanksTest, AnyRectangleIsRead) {
  ShardedCheckpoint parts = AsOfRanks(Written(true), config_);
  EXPECT_EQ(parts.table("a").iter, 4);
  const ShardTensors part{
      "a",
      {0, 2, 4, 3, 4},
      Tensor::Zeros(ctx_, {3, 4}),
      {{"element", Tensor::Zeros(ctx_, {3, 4})}, {"row", Tensor::Zeros(ctx_, {3})}}};
  LoadShards(ctx_, parts, std::vector{part});
  EXPECT_THAT(part.weights.ToVector<float>(),
              ElementsAre(20, 21, 22, 23, 28, 29, 30, 31, 36, 37, 38, 39));
  EXPECT_THAT(part.states[0].tensor.ToVector<float>(),
              ElementsAre(220, 221, 222, 223, 228, 229, 230, 231, 236, 237, 238, 239));
  EXPECT_THAT(part.states[1].tensor.ToVector<float>(), ElementsAre(102, 103, 104));
}

TEST_F(AsOfRanksTest, WhatIsOfNoRowsStaysWhole) {
  ShardedCheckpoint parts = AsOfRanks(Written(true), config_);
  ASSERT_EQ(parts.index().whole.size(), 2u);
  EXPECT_THAT(parts.ReadWhole(ctx_, "over.bias").ToVector<float>(), ElementsAre(7, 8, 9));
  EXPECT_THAT(parts.ReadWhole(ctx_, OptimizerStateName(parameter_, "table")).ToVector<float>(),
              ElementsAre(300));
}

TEST_F(AsOfRanksTest, ColumnBlocksTakeCopiesOfNumbersARow) {
  ShardedCheckpoint parts = AsOfRanks(Written(true), config_);
  const ShardingPlan plan =
      MakeShardingPlan({2, 2}, ShapesOf(parts.info()), {{"a", ColumnWise({0, 1})}});
  EXPECT_THAT(
      StatisticsChanged(parts.index(), plan),
      ElementsAre(HasSubstr("columns 0 to 4: a copy"), HasSubstr("columns 4 to 8: a copy")));
}

TEST_F(AsOfRanksTest, WeightsAloneHaveNoStates) {
  ShardedCheckpoint parts = AsOfRanks(Written(false), config_);
  EXPECT_TRUE(parts.index().tables.at("a").states.empty());
}

TEST_F(AsOfRanksTest, ATableThatIsNotThereIsNamed) {
  config_.tables[0].name = "b";
  EXPECT_THAT(
      ErrorOf([&] { AsOfRanks(Written(true), config_); }),
      HasSubstr("it lacks the rows of table b, '" + RankingModel::TableParameterName("b") + "'"));
}

}  // namespace
}  // namespace tessera
