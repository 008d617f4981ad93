#include "embedding/table_batched_embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "runtime/ops/arithmetic.h"
#include "tests/embedding/small_tables.h"
#include "tests/testing/devices.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using testing::Counting;
using testing::SmallTable;

class TableBatchedEmbeddingTest : public testing::DeviceTest {
 protected:
  KeyedJaggedTensor Kjt(std::vector<int64_t> ids, std::vector<int64_t> lengths,
                        Variable weights = {}) {
    return KeyedJaggedTensor::FromLengthsSync({"a", "b"}, Tensor::From(ctx(), ids),
                                              Tensor::From(ctx(), lengths), weights);
  }
  TableBatchedEmbedding Tables(AnyRule rule = Sgd{1.0f},
                               TableBatchedEmbeddingOptions options = {}) {
    return TableBatchedEmbedding(
        ctx(), {Counting(SmallTable("t", 4, 2, rule)), Counting(SmallTable("u", 3, 1, rule))},
        {PoolingType::kSum, PoolingType::kMean}, {{"b", 1, "b"}, {"a", 0, "a"}}, options);
  }
};

TEST_P(TableBatchedEmbeddingTest, LooksUpFeaturesInTheirOwnOrderAndUpdatesInsideBackward) {
  TableBatchedEmbedding tables = Tables();
  Tape tape(ctx());
  const Variable out = tables.Forward(ctx(), Kjt({1, 3, 0, 2, 1}, {2, 1, 2, 0}));
  EXPECT_THAT(out.value().ToVector<float>(), ::testing::ElementsAre(1.5f, 8, 10, 0, 0, 1));
  tape.Backward(Sum(ctx(), out));
  EXPECT_THAT(tables.weight(0).ToVector<float>(), ::testing::ElementsAre(-1, 0, 1, 2, 4, 5, 5, 6));
  EXPECT_THAT(tables.weight(1).ToVector<float>(), ::testing::ElementsAre(0, 0.5f, 1.5f));
}

TEST_P(TableBatchedEmbeddingTest, CountsTrainingForwardsOnlyAlsoEmptyOnes) {
  TableBatchedEmbedding tables = Tables();
  tables.Forward(ctx(), Kjt({1}, {1, 0}));
  EXPECT_EQ(tables.iter(), 0);
  {
    Tape tape(ctx());
    tables.Forward(ctx(), Kjt({}, {0, 0}));
    EXPECT_EQ(tables.iter(), 1);
    const NoGrad no_grad(ctx());
    tables.Forward(ctx(), Kjt({1}, {1, 0}));
  }
  EXPECT_EQ(tables.iter(), 1);
  Tape tape(ctx());
  tables.Forward(ctx(), Kjt({}, {}));
  EXPECT_EQ(tables.iter(), 2);
}

TEST_P(TableBatchedEmbeddingTest, RefusesASecondTrainingForwardBeforeBackward) {
  TableBatchedEmbedding tables = Tables();
  const KeyedJaggedTensor kjt = Kjt({1}, {1, 0});
  {
    Tape tape(ctx());
    tables.Forward(ctx(), kjt);
    EXPECT_THAT([&] { tables.Forward(ctx(), kjt); },
                ThrowsMessage<Error>(HasSubstr("before the backward")));
  }
  Tape tape(ctx());  // the first tape is gone without backward: nothing waits any more
  tape.Backward(Sum(ctx(), tables.Forward(ctx(), kjt)));
  Tape next(ctx());
  EXPECT_NO_THROW(tables.Forward(ctx(), kjt));
}

TEST_P(TableBatchedEmbeddingTest, DenseTablesAreVariables) {
  TableBatchedEmbedding tables = Tables(Dense{});
  const KeyedJaggedTensor kjt = Kjt({1, 3, 0, 2, 1, 1}, {2, 1, 2, 1});
  const Tensor before = tables.weight(0).Clone(ctx());
  Tape tape(ctx());
  const Variable twice = Add(ctx(), tables.Forward(ctx(), kjt), tables.Forward(ctx(), kjt));
  tape.Backward(Sum(ctx(), twice));
  EXPECT_TRUE(SameBits(before, tables.weight(0)));
  EXPECT_THAT(tables.weight_variable(0).grad().ToVector<float>(),
              ::testing::ElementsAre(2, 2, 2, 2, 0, 0, 2, 2));
  EXPECT_THAT(tables.weight_variable(1).grad().ToVector<float>(), ::testing::ElementsAre(0, 3, 1));
  tables.weight_variable(0).set_value(before);
  EXPECT_THROW(tables.Forward(ctx(), kjt), Error);  // it reads its own tensor
}

TEST_P(TableBatchedEmbeddingTest, GradientsOfWeightsAreTheDerivatives) {
  TableBatchedEmbedding tables = Tables(Dense{}, {.weighted = true});
  const auto pooled = [&](Context& ctx, const std::vector<Variable>& weights) {
    return std::vector<Variable>{
        tables.Forward(ctx, Kjt({1, 3, 0, 2, 1, 1}, {2, 1, 2, 1}, weights[0]))};
  };
  testing::ExpectGradients(ctx(), pooled, {Tensor::From<float>(ctx(), {0.5f, -1, 2, 0.25f, 1, 3})});
}

TEST_P(TableBatchedEmbeddingTest, WeightGradientsAreOfTheRowsBeforeTheUpdateAndOnlyOnRequest) {
  TableBatchedEmbedding tables = Tables(Sgd{100.0f}, {.weighted = true});
  for (const bool wanted : {true, false}) {
    tables.weight(0).Fill(ctx(), 2);
    const Variable weights(Tensor::From<float>(ctx(), {1, 1}), wanted);
    Tape tape(ctx());
    tape.Backward(Sum(ctx(), tables.Forward(ctx(), Kjt({1, 1}, {2, 0}, weights))));
    EXPECT_EQ(weights.grad().defined(), wanted);
    if (wanted) {
      EXPECT_THAT(weights.grad().ToVector<float>(), ::testing::ElementsAre(4, 4));
    }
    EXPECT_EQ(tables.weight(0).ToVector<float>()[2], 2 - 200);
  }
}

TEST_P(TableBatchedEmbeddingTest, ClampsGradientsFirst) {
  TableBatchedEmbedding tables = Tables(Sgd{1.0f}, {.max_gradient = 0.25f});
  Tape tape(ctx());
  tape.Backward(Sum(ctx(), tables.Forward(ctx(), Kjt({1}, {1, 0}))));
  EXPECT_EQ(tables.weight(0).ToVector<float>()[2], 1.75f);
  for (const float wrong : {-1.0f, std::numeric_limits<float>::quiet_NaN()})
    EXPECT_THROW(Tables(Sgd{1.0f}, {.max_gradient = wrong}), Error);
}

TEST_P(TableBatchedEmbeddingTest, SequencesKeepEveryRow) {
  TableBatchedEmbedding tables(
      ctx(), {Counting(SmallTable("t", 4, 2)), Counting(SmallTable("u", 3, 1))},
      {PoolingType::kNone, PoolingType::kNone}, {{"a", 0, "a"}, {"b", 1, "b"}});
  Tape tape(ctx());
  const std::vector<Variable> rows = tables.ForwardSequence(ctx(), Kjt({1, 3, 1, 2}, {2, 1, 0, 1}));
  EXPECT_THAT(rows[0].value().ToVector<float>(), ::testing::ElementsAre(2, 3, 6, 7, 2, 3));
  EXPECT_EQ(rows[1].shape(), (Shape{1, 1}));
  tape.Backward(Sum(ctx(), rows[0]));  // no gradient reaches the other sequence
  EXPECT_THAT(tables.weight(0).ToVector<float>(), ::testing::ElementsAre(0, 1, 0, 1, 4, 5, 5, 6));
  EXPECT_THAT(tables.weight(1).ToVector<float>(), ::testing::ElementsAre(0, 1, 2));
  EXPECT_THROW(tables.Forward(ctx(), Kjt({}, {})), Error);
}

TEST_P(TableBatchedEmbeddingTest, BadIdsAreErrorsOrCountedOrMended) {
  const KeyedJaggedTensor kjt = Kjt({1, 7, -1}, {3, 0});
  EXPECT_THAT([&] { Tables().Forward(ctx(), kjt); },
              ThrowsMessage<Error>(HasSubstr("feature a: id 7")));
  TableBatchedEmbedding warning = Tables(Sgd{}, {.bounds_check = BoundsCheckMode::kWarning});
  EXPECT_EQ(warning.Forward(ctx(), kjt).value().ToVector<float>()[1],
            2.0f);  // rows 1 and 0; −1 adds nothing
  EXPECT_EQ(warning.bounds_check_warnings(), 1);
  TableBatchedEmbedding none = Tables(Sgd{}, {.bounds_check = BoundsCheckMode::kNone});
  EXPECT_EQ(none.Forward(ctx(), kjt).value().ToVector<float>()[1], 2.0f);  // row 1 alone
  EXPECT_EQ(none.bounds_check_warnings(), 0);
}

TEST_P(TableBatchedEmbeddingTest, RefusesWhatMakesNoSense) {
  const std::vector<PoolingType> sum = {PoolingType::kSum},
                                 two = {PoolingType::kSum, PoolingType::kSum};
  EXPECT_THROW(TableBatchedEmbedding(ctx(), {SmallTable("t", 0, 2)}, sum, {}), Error);
  EXPECT_THROW(TableBatchedEmbedding(ctx(), {SmallTable("t", 2, 0)}, sum, {}), Error);
  EXPECT_THROW(TableBatchedEmbedding(ctx(), {SmallTable("", 2, 2)}, sum, {}), Error);
  EXPECT_THROW(
      TableBatchedEmbedding(ctx(), {SmallTable("t", 2, 2), SmallTable("t", 2, 2)}, two, {}), Error);
  EXPECT_THROW(TableBatchedEmbedding(ctx(), {SmallTable("t", 2, 2)}, sum, {{"a", 1, "a"}}), Error);
  BaseEmbeddingConfig whole = SmallTable("t", 2, 2);
  whole.data_type = DType::kI32;
  EXPECT_THAT([&] { TableBatchedEmbedding(ctx(), {whole}, sum, {}); },
              ThrowsMessage<Error>(HasSubstr("table t: rows of type i32")));
  EXPECT_THAT([&] { TableBatchedEmbedding(ctx(), {SmallTable("t", 2, 2, Sgd{-1.0f})}, sum, {}); },
              ThrowsMessage<Error>(HasSubstr("table t: sgd: lr -1")));
  const BaseEmbeddingConfig odd = SmallTable("t", 2, 7, EmaInPlaceRowwiseAdagrad{});
  EXPECT_THAT(
      [&] { TableBatchedEmbedding(ctx(), {odd}, sum, {}); },
      ThrowsMessage<Error>(HasSubstr("table t: emainplace_rowwise_adagrad: its rows are two "
                                     "halves: expected an even dim, got 7")));
  EXPECT_THAT(
      [&] {
        TableBatchedEmbedding(ctx(), {SmallTable("t", 2, 2)}, {PoolingType::kNone}, {},
                              {.weighted = true});
      },
      ThrowsMessage<Error>(HasSubstr("table t: sequences")));
  EXPECT_THROW(Tables().Forward(ctx(), KeyedJaggedTensor::FromLengthsSync(
                                           {"a"}, Tensor::From<int64_t>(ctx(), {}),
                                           Tensor::From<int64_t>(ctx(), {0}))),
               Error);
  EXPECT_THROW(Tables(Sgd{}, {.weighted = true}).Forward(ctx(), Kjt({}, {0, 0})), Error);
}

TEST_P(TableBatchedEmbeddingTest, TablesStartUniformWithinTheRootOfOneOverRows) {
  TableBatchedEmbedding tables(ctx(), {SmallTable("t", 400, 50)}, {PoolingType::kSum}, {});
  float low = 1, high = -1;
  for (const float w : tables.weight(0).ToVector<float>()) {
    low = std::min(low, w);
    high = std::max(high, w);
  }
  EXPECT_GE(low, -0.05f);
  EXPECT_LE(high, 0.05f);
  EXPECT_LT(low, -0.0499f);
  EXPECT_GT(high, 0.0499f);
}

TESSERA_INSTANTIATE_DEVICES(TableBatchedEmbeddingTest);

}  // namespace
}  // namespace tessera
