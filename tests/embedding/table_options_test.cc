// Options of a TableBatchedEmbedding: types of rows, states and outputs, poolings mixed in one
// call, frozen tables, rates and counters of single tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "embedding/lookup/row_access.h"
#include "embedding/table_batched_embedding.h"
#include "runtime/ops/arithmetic.h"
#include "tests/embedding/small_tables.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using testing::Counting;
using ::testing::ElementsAre;
using testing::Filled;
using ::testing::HasSubstr;
using testing::SmallTable;
using ::testing::ThrowsMessage;

class TableOptionsTest : public testing::DeviceTest {
 protected:
  KeyedJaggedTensor Kjt(std::vector<int64_t> ids, std::vector<int64_t> lengths,
                        Variable weights = {}) {
    return KeyedJaggedTensor::FromLengthsSync({"a", "b"}, Tensor::From(ctx(), ids),
                                              Tensor::From(ctx(), lengths), weights);
  }
  // One table that key "a" reads.
  TableBatchedEmbedding One(BaseEmbeddingConfig config, TableBatchedEmbeddingOptions options = {}) {
    return TableBatchedEmbedding(ctx(), {std::move(config)}, {PoolingType::kSum}, {{"a", 0, "a"}},
                                 options);
  }
  void Step(TableBatchedEmbedding& tables, const KeyedJaggedTensor& kjt) {
    Tape tape(ctx());
    const Variable out = tables.Forward(ctx(), kjt);
    tape.Backward(out, Tensor::Full(ctx(), out.shape(), 1, out.value().dtype()));
  }
  std::vector<float> Weights(const TableBatchedEmbedding& tables, int table = 0) {
    return tables.weight(table).To(ctx(), DType::kF32).ToVector<float>();
  }
};

TEST_P(TableOptionsTest, RowsOf16BitsAreMadeInF32AndRoundedOnce) {
  for (const DType type : {DType::kF16, DType::kBF16}) {
    BaseEmbeddingConfig config = Filled(SmallTable("t", 2, 3), 1.00293f);
    config.data_type = type;
    const TableBatchedEmbedding tables = One(config);
    EXPECT_EQ(tables.weight(0).dtype(), type);
    EXPECT_TRUE(SameBits(tables.weight(0), Tensor::Full(ctx(), {2, 3}, 1.00293f, type)));
  }
}

TEST_P(TableOptionsTest, A16BitRowTakesAStepBelowItsPrecisionByChanceAlone) {
  constexpr int64_t kDim = 256;
  for (const bool by_chance : {false, true}) {
    BaseEmbeddingConfig config = Filled(SmallTable("t", 2, kDim, Sgd{0x1p-9f}), 1);
    config.data_type = DType::kBF16;  // 2^-7 from 1 up to the next, 2^-8 down
    config.stochastic_rounding = by_chance;
    TableBatchedEmbedding tables = One(config, {.rounding_seed = 5});
    Step(tables, Kjt({1}, {1, 0}));
    double mean = 0;
    const std::vector<float> weights = Weights(tables);
    for (int64_t d = 0; d < kDim; ++d) mean += static_cast<double>(weights[kDim + d]) / kDim;
    if (by_chance)
      EXPECT_NEAR(mean, 1 - 0x1p-9, 0x1p-11);
    else
      EXPECT_EQ(mean, 1);  // a tie, to even
    EXPECT_EQ(weights[0], 1);
  }
}

TEST_P(TableOptionsTest, RoundingDependsOnSeedAndNameNotOnPlace) {
  const auto rounded = [&](bool other_first, uint64_t seed) {
    BaseEmbeddingConfig t = Filled(SmallTable("t", 1, 64, Sgd{0x1p-9f}), 1), other = t;
    t.data_type = other.data_type = DType::kBF16;
    t.stochastic_rounding = other.stochastic_rounding = true;
    other.name = "other";
    const int place = other_first ? 1 : 0;
    TableBatchedEmbedding tables(ctx(), other_first ? std::vector{other, t} : std::vector{t, other},
                                 {PoolingType::kSum, PoolingType::kSum},
                                 {{"a", place, "a"}, {"b", 1 - place, "b"}},
                                 {.rounding_seed = seed});
    Step(tables, Kjt({0, 0}, {1, 1}));
    EXPECT_NE(Weights(tables, 0), Weights(tables, 1));
    return Weights(tables, place);
  };
  EXPECT_EQ(rounded(false, 1), rounded(true, 1));
  EXPECT_NE(rounded(false, 1), rounded(false, 2));
}

TEST_P(TableOptionsTest, StatesHaveTheirTypeAndCountsAreF32) {
  BaseEmbeddingConfig config = SmallTable("t", 3, 2, CounterRowwiseAdagrad{});
  config.state_type = DType::kBF16;
  TableBatchedEmbedding tables = One(config);
  Step(tables, Kjt({1}, {1, 0}));
  const std::vector<OptimizerState> states = tables.optimizer_states(0);
  ASSERT_EQ(states.size(), 3u);
  EXPECT_EQ(states[0].tensor.dtype(), DType::kBF16);
  EXPECT_EQ(states[0].tensor.To(ctx(), DType::kF32).ToVector<float>()[1], 1);
  EXPECT_EQ(states[2].name, "row_counter");
  EXPECT_THAT(states[2].tensor.ToVector<float>(), ElementsAre(0, 1, 0));
}

TEST_P(TableOptionsTest, OutputsOf16BitsBringTheirGradientsBack) {
  BaseEmbeddingConfig config = Counting(SmallTable("t", 4, 2));
  config.data_type = DType::kF16;
  TableBatchedEmbedding tables = One(config, {.output_type = DType::kBF16});
  Tape tape(ctx());
  const Variable out = tables.Forward(ctx(), Kjt({1, 2}, {2, 0}));
  EXPECT_EQ(out.value().dtype(), DType::kBF16);
  EXPECT_THAT(out.value().To(ctx(), DType::kF32).ToVector<float>(), ElementsAre(6, 8));
  tape.Backward(out, Tensor::Full(ctx(), {1, 2}, 0.5, DType::kBF16));
  EXPECT_THAT(Weights(tables), ElementsAre(0, 1, 1.5f, 2.5f, 3.5f, 4.5f, 6, 7));
}

TEST_P(TableOptionsTest, DenseAndNoneTakeRowsOf16Bits) {
  for (const AnyRule& rule : {AnyRule(Dense{}), AnyRule(None{})}) {
    BaseEmbeddingConfig config = Counting(SmallTable("t", 3, 2, rule));
    config.data_type = DType::kBF16;
    TableBatchedEmbedding tables = One(config);
    Step(tables, Kjt({1, 1}, {2, 0}));
    if (std::holds_alternative<Dense>(rule)) {
      EXPECT_THAT(tables.weight_variable(0).grad().ToVector<float>(),
                  ElementsAre(0, 0, 2, 2, 0, 0));
    } else {
      EXPECT_THAT(tables.row_gradients(0).rows.ToVector<int64_t>(), ElementsAre(1));
      EXPECT_THAT(tables.row_gradients(0).grads.ToVector<float>(), ElementsAre(2, 2));
    }
    EXPECT_THAT(Weights(tables), ElementsAre(0, 1, 2, 3, 4, 5));
  }
}

TEST_P(TableOptionsTest, PooledAndSequencesInOneCall) {
  TableBatchedEmbedding tables(
      ctx(),
      {Counting(SmallTable("sum", 4, 2)), Counting(SmallTable("none", 3, 3)),
       Counting(SmallTable("mean", 4, 1))},
      {PoolingType::kSum, PoolingType::kNone, PoolingType::kMean},
      {{"a@none", 1, "a"}, {"a@sum", 0, "a"}, {"b@mean", 2, "b"}, {"b@none", 1, "b"}});
  Tape tape(ctx());
  const EmbeddingOutputs out = tables.ForwardAll(ctx(), Kjt({1, 2, 0, 1, 2}, {2, 0, 1, 2}));
  EXPECT_EQ(tables.iter(), 1);
  EXPECT_THAT(out.pooled.value().ToVector<float>(), ElementsAre(6, 8, 0, 0, 0, 1.5f));
  ASSERT_EQ(out.sequences.size(), 2u);
  EXPECT_THAT(out.sequences[0].value().ToVector<float>(), ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_THAT(out.sequences[1].value().ToVector<float>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  // No gradient reaches the second sequence.
  tape.Backward(Add(ctx(), Sum(ctx(), out.pooled), Sum(ctx(), out.sequences[0])));
  EXPECT_THAT(Weights(tables, 0), ElementsAre(0, 1, 1, 2, 3, 4, 6, 7));
  EXPECT_THAT(Weights(tables, 1), ElementsAre(0, 1, 2, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(Weights(tables, 2), ElementsAre(-1, 0.5f, 1.5f, 3));
  EXPECT_THAT([&] { tables.Forward(ctx(), Kjt({}, {})); },
              ThrowsMessage<Error>(HasSubstr("table none: pooling is NONE")));
  EXPECT_THAT([&] { tables.ForwardSequence(ctx(), Kjt({}, {})); },
              ThrowsMessage<Error>(HasSubstr("table sum is pooled")));
}

TEST_P(TableOptionsTest, AFrozenTableStaysAsItIs) {
  for (const AnyRule& rule : {AnyRule(Adagrad{1.0f}), AnyRule(EnsembleRowwiseAdagrad{}),
                              AnyRule(Dense{}), AnyRule(None{})}) {
    AnyRule restless = rule;
    if (auto* ensemble = std::get_if<EnsembleRowwiseAdagrad>(&restless))
      ensemble->step_ema = ensemble->step_swap = 1;
    TableBatchedEmbedding tables =
        One(Counting(SmallTable("t", 2, 2, restless)), {.weighted = true});
    tables.SetFrozen(0, true);
    EXPECT_TRUE(tables.frozen(0));
    const Variable weights(Tensor::From<float>(ctx(), {2}), /*requires_grad=*/true);
    Step(tables, Kjt({1}, {1, 0}, weights));
    EXPECT_THAT(Weights(tables), ElementsAre(0, 1, 2, 3)) << RuleName(rule);
    for (const OptimizerState& state : tables.optimizer_states(0))
      EXPECT_THAT(state.tensor.ToVector<float>(), ::testing::Each(0.0f)) << state.name;
    EXPECT_THAT(weights.grad().ToVector<float>(), ElementsAre(5));
    EXPECT_EQ(tables.iter(0), 1);
    tables.SetFrozen(0, false);
    Step(tables, Kjt({1}, {1, 0}, Variable(Tensor::From<float>(ctx(), {2}))));
    if (std::holds_alternative<Adagrad>(rule)) {
      EXPECT_LT(Weights(tables)[2], 2);
    }
  }
}

TEST_P(TableOptionsTest, AKeyReadByTwoTablesGetsTheSumOfItsWeightGradients) {
  TableBatchedEmbedding tables(
      ctx(), {Counting(SmallTable("t", 3, 2)), Filled(SmallTable("u", 3, 1), 10)},
      {PoolingType::kSum, PoolingType::kSum}, {{"a@t", 0, "a"}, {"a@u", 1, "a"}, {"b", 1, "b"}},
      {.weighted = true});
  const Variable weights(Tensor::From<float>(ctx(), {1, 1, 1}), /*requires_grad=*/true);
  Step(tables, Kjt({1, 2, 0}, {2, 1}, weights));
  EXPECT_THAT(weights.grad().ToVector<float>(), ElementsAre(15, 19, 10));
}

TEST_P(TableOptionsTest, RatesAreScaledWhenTheyAreSetForAll) {
  BaseEmbeddingConfig scaled = SmallTable("t", 2, 1, Sgd{0.5f});
  scaled.lr_scale = 4;
  TableBatchedEmbedding tables(ctx(), {scaled, SmallTable("u", 2, 1, Adam{})},
                               {PoolingType::kSum, PoolingType::kSum}, {});
  EXPECT_EQ(LearningRate(tables.rule(0)), 0.5f);
  tables.SetLearningRate(0.25f);
  EXPECT_EQ(LearningRate(tables.rule(0)), 1.0f);
  EXPECT_EQ(LearningRate(tables.rule(1)), 0.25f);
  tables.SetLearningRate(0, 3);
  EXPECT_EQ(LearningRate(tables.rule(0)), 3.0f);
  tables.SetLearningRateScale(1, 2);
  tables.SetLearningRate(0.25f);
  EXPECT_EQ(LearningRate(tables.rule(1)), 0.5f);
  EXPECT_THROW(tables.SetLearningRateScale(0, -1), Error);
}

TEST_P(TableOptionsTest, EachTableCountsItsOwnSteps) {
  const BaseEmbeddingConfig t = Filled(SmallTable("t", 2, 1, Adam{0.1f}), 1);
  BaseEmbeddingConfig u = t;
  u.name = "u";
  TableBatchedEmbedding tables(ctx(), {t, u}, {PoolingType::kSum, PoolingType::kSum},
                               {{"a", 0, "a"}, {"b", 1, "b"}}),
      late = One(t);
  tables.set_iter(1, 9);
  late.set_iter(9);
  Step(tables, Kjt({1, 1}, {1, 1}));
  Step(late, Kjt({1}, {1, 0}));
  EXPECT_EQ(tables.iter(), 1);
  EXPECT_EQ(tables.iter(0), 1);
  EXPECT_EQ(tables.iter(1), 10);
  EXPECT_TRUE(SameBits(tables.weight(1), late.weight(0)));
  EXPECT_NE(Weights(tables, 0), Weights(tables, 1));
  tables.set_iter(4);
  EXPECT_EQ(tables.iter(1), 4);
  for (const int64_t iter : {int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_THROW(tables.set_iter(iter), Error);
    EXPECT_THROW(tables.set_iter(0, iter), Error);
  }
}

TESSERA_INSTANTIATE_DEVICES(TableOptionsTest);

}  // namespace
}  // namespace tessera
