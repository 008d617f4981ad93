// The work of a TableBatchedEmbedding's training forward for rules that look at whole tables, in
// its order: count, max_counter, sweeps, owed decay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "embedding/table_batched_embedding.h"
#include "runtime/ops/arithmetic.h"
#include "tests/embedding/small_tables.h"
#include "tests/testing/devices.h"
#include "tests/testing/rules.h"

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::Filled;
using ::testing::HasSubstr;
using testing::SmallTable;
using ::testing::ThrowsMessage;
using ::testing::Truly;

class TableRulesTest : public testing::DeviceTest {
 protected:
  KeyedJaggedTensor Kjt(std::vector<int64_t> ids, std::vector<int64_t> lengths,
                        Variable weights = {}) {
    return KeyedJaggedTensor::FromLengthsSync({"a", "b"}, Tensor::From(ctx(), ids),
                                              Tensor::From(ctx(), lengths), weights);
  }
  TableBatchedEmbedding Two(AnyRule rule, TableBatchedEmbeddingOptions options = {},
                            PoolingType second = PoolingType::kSum) {
    return TableBatchedEmbedding(
        ctx(), {Filled(SmallTable("t", 3, 2, rule), 1), Filled(SmallTable("u", 3, 2), 1)},
        {PoolingType::kSum, second}, {{"a", 0, "a"}, {"b", 1, "b"}}, options);
  }
  std::vector<float> Step(TableBatchedEmbedding& tables, const KeyedJaggedTensor& kjt) {
    Tape tape(ctx());
    const Variable out = tables.ForwardAll(ctx(), kjt).pooled;
    tape.Backward(Sum(ctx(), out));
    return out.value().ToVector<float>();
  }
};

TEST_P(TableRulesTest, MaxCounterIsTakenAnewWhereItIsDue) {
  CounterRowwiseAdagrad rule;
  rule.max_counter_update_freq = 2;
  TableBatchedEmbedding tables = Two(rule);
  std::vector<float> seen;
  for (int step = 0; step < 4; ++step) {
    Step(tables, Kjt({1}, {1, 0}));
    seen.push_back(tables.max_counter());
  }
  EXPECT_THAT(seen, ElementsAre(1, 2, 2, 4));
  EXPECT_EQ(std::get<CounterRowwiseAdagrad>(tables.rule(0)).max_counter, 4);
  tables.set_max_counter(9);
  EXPECT_EQ(tables.max_counter(), 9);
  EXPECT_THROW(tables.set_max_counter(0), Error);
}

// LAMB and LARS divide by norms of it, FTRL by the rate.
TEST_P(TableRulesTest, AGradientOrARateOfZeroMakesNoRowNaN) {
  const auto row = [&](AnyRule rule, float rate, float weight) {
    TableBatchedEmbedding tables = Two(rule, {.weighted = true});
    tables.SetLearningRate(0, rate);
    for (int step = 0; step < 2; ++step)
      Step(tables, Kjt({1}, {1, 0}, Variable(Tensor::From<float>(ctx(), {weight}))));
    return tables.weight(0).Rows(1, 2).ToVector<float>();
  };
  for (const AnyRule& rule : testing::AllRules()) {
    if (std::holds_alternative<Dense>(rule)) continue;
    for (const auto& [rate, weight] : {std::pair(0.1f, 0.0f), {0.0f, 1.0f}, {0.0f, 0.0f}})
      EXPECT_THAT(row(rule, rate, weight), Each(Truly([](float x) { return std::isfinite(x); })))
          << RuleName(rule) << " " << rate << " " << weight;
  }
  for (const AnyRule& rule : {AnyRule(Lamb{}), AnyRule(PartialRowwiseLamb{}), AnyRule(LarsSgd{})})
    EXPECT_THAT(row(rule, 0.1f, 0), ElementsAre(1, 1)) << RuleName(rule);
  EXPECT_THAT(row(Ftrl{}, 0, 1), ElementsAre(1, 1));
}

TEST_P(TableRulesTest, RatesAndTablesThatThereAreNotAreRefused) {
  TableBatchedEmbedding tables = Two(Sgd{0.1f});
  for (const float rate : {-1.0f, std::nanf(""), std::numeric_limits<float>::infinity()})
    EXPECT_THROW(tables.SetLearningRate(0, rate), Error);
  for (const int table : {-1, 2}) {
    EXPECT_THROW(tables.SetLearningRate(table, 0.1f), Error);
    EXPECT_THROW(tables.weight(table), Error);
  }
  Context host({.threads = 1});
  EXPECT_THROW(tables.rows().Take(ctx(), 0, 0, Tensor::From<int64_t>(host, {0, 3})), Error);
  BaseEmbeddingConfig config = SmallTable("t", 3, 2);
  config.init_range = {1, -1};
  EXPECT_THROW(TableBatchedEmbedding(ctx(), {config}, {PoolingType::kSum}, {{"a", 0, "a"}}), Error);
}

TEST_P(TableRulesTest, SweepsComeBeforeTheForwardThatCountsThem) {
  EmaInPlaceRowwiseAdagrad rule;
  rule.lr = 0;
  rule.step_ema = 2;
  rule.step_start = 0;
  rule.step_ema_coef = 0.5f;
  TableBatchedEmbedding tables = Two(rule);
  tables.weight(0).CopyFrom(ctx(), Tensor::From<float>(ctx(), {3, 2}, {0, 8, 0, 8, 0, 8}));
  EXPECT_EQ(Step(tables, Kjt({1}, {1, 0}))[1], 8);
  EXPECT_EQ(tables.ForwardAll(ctx(), Kjt({1}, {1, 0})).pooled.value().ToVector<float>()[1], 8);
  EXPECT_EQ(Step(tables, Kjt({1}, {1, 0}))[1], 4);
  EXPECT_THAT(tables.weight(0).ToVector<float>(), ElementsAre(0, 4, 0, 4, 0, 4));
}

TEST_P(TableRulesTest, OwedDecayIsReadButNotInTheGradientOfTheWeights) {
  GlobalDecayRowwiseAdagrad rule;
  rule.lr = 0.5f;
  rule.weight_decay = 1;  // half of a row is left after each step
  for (const PoolingType second : {PoolingType::kSum, PoolingType::kMean}) {
    TableBatchedEmbedding tables = Two(rule, {.weighted = true}, second);
    const auto weights = [&](bool wanted) {
      return Variable(Tensor::From<float>(ctx(), {3, 5}), wanted);
    };
    Step(tables, Kjt({1, 1}, {1, 1}, weights(false)));
    tables.weight(0).Fill(ctx(), 1);
    tables.weight(1).Fill(ctx(), 1);
    Step(tables, Kjt({}, {0, 0}, Variable(Tensor::From<float>(ctx(), {}))));
    Step(tables, Kjt({}, {0, 0}, Variable(Tensor::From<float>(ctx(), {}))));
    // Row 1 was last touched in step 1: in step 4 it owes two steps.
    const Variable seen = weights(true);
    EXPECT_THAT(Step(tables, Kjt({1, 1}, {1, 1}, seen)), ElementsAre(0.75f, 0.75f, 5, 5));
    EXPECT_THAT(seen.grad().ToVector<float>(), ElementsAre(2, 2));
    tables.weight(0).Fill(ctx(), 1);
    const Variable plain = tables.ForwardAll(ctx(), Kjt({1, 1}, {1, 1}, weights(false))).pooled;
    EXPECT_EQ(plain.value().ToVector<float>()[0], 3);  // prediction reads what is there
  }
}

TEST_P(TableRulesTest, OwedDecayGoesBesideSequences) {
  GlobalDecayRowwiseAdagrad rule;
  rule.lr = 0.5f;
  rule.weight_decay = 1;
  TableBatchedEmbedding tables = Two(rule, {}, PoolingType::kNone);
  for (int step = 0; step < 3; ++step) {
    tables.weight(0).Fill(ctx(), 1);
    tables.weight(1).Fill(ctx(), 1);
    Tape tape(ctx());
    const EmbeddingOutputs out =
        tables.ForwardAll(ctx(), step == 1 ? Kjt({}, {0, 0}) : Kjt({1, 2}, {1, 1}));
    if (step == 2) {
      EXPECT_THAT(out.pooled.value().ToVector<float>(), ElementsAre(0.5f, 0.5f));
      EXPECT_THAT(out.sequences[0].value().ToVector<float>(), ElementsAre(1, 1));
    }
    tape.Backward(Add(ctx(), Sum(ctx(), out.pooled), Sum(ctx(), out.sequences[0])));
  }
  EXPECT_THAT(tables.weight(1).ToVector<float>(), ElementsAre(1, 1, 1, 1, 0, 0));
}

TEST_P(TableRulesTest, AKeyThatOwesDecayHasOneReader) {
  EXPECT_THAT(
      [&] {
        TableBatchedEmbedding(
            ctx(), {SmallTable("t", 3, 2, GlobalDecayRowwiseAdagrad{}), SmallTable("u", 3, 2)},
            {PoolingType::kSum, PoolingType::kSum}, {{"a@t", 0, "a"}, {"a@u", 1, "a"}});
      },
      ThrowsMessage<Error>(HasSubstr("feature a@t")));
}

TESSERA_INSTANTIATE_DEVICES(TableRulesTest);

}  // namespace
}  // namespace tessera
