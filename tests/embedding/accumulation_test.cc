// Gradient accumulation of a TableBatchedEmbedding: several forwards that are one step.
// tests/crossings holds its bits beside everything else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "embedding/table_batched_embedding.h"
#include "tests/embedding/small_tables.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using testing::Filled;
using ::testing::HasSubstr;
using testing::SmallTable;
using ::testing::ThrowsMessage;

class TableAccumulationTest : public testing::DeviceTest {
 protected:
  TableBatchedEmbedding Tables(TableBatchedEmbeddingOptions options = {},
                               const AnyRule& rule = Adam{0.1f}) {
    return TableBatchedEmbedding(
        ctx(),
        {Filled(SmallTable("t", 6, 4, rule), 0.5f), Filled(SmallTable("s", 3, 2, rule), 0.25f)},
        {PoolingType::kSum, PoolingType::kNone}, {{"a", 0, "a"}, {"b", 0, "b"}, {"c", 1, "c"}},
        options);
  }
  // A batch of one example or of several: keys a, b, c with the ids of these examples.
  KeyedJaggedTensor Examples(std::vector<std::vector<std::vector<int64_t>>> examples,
                             DType type = DType::kI64) {
    std::vector<int64_t> ids, lengths;
    for (size_t key = 0; key < 3; ++key)
      for (const auto& example : examples) {
        ids.insert(ids.end(), example[key].begin(), example[key].end());
        lengths.push_back(std::ssize(example[key]));
      }
    return KeyedJaggedTensor::FromLengthsSync({"a", "b", "c"},
                                              Tensor::From(ctx(), ids).To(ctx(), type),
                                              Tensor::From(ctx(), lengths).To(ctx(), type));
  }
  void Step(TableBatchedEmbedding& tables, const KeyedJaggedTensor& kjt) {
    Tape tape(ctx());
    const EmbeddingOutputs out = tables.ForwardAll(ctx(), kjt);
    tape.Backward(out.pooled, Tensor::Full(ctx(), out.pooled.shape(), 0.3));
  }
  void ExpectEqual(const TableBatchedEmbedding& got, const TableBatchedEmbedding& expected) {
    for (int t = 0; t < 2; ++t) {
      EXPECT_TRUE(SameBits(got.weight(t), expected.weight(t)));
      for (size_t s = 0; s < expected.optimizer_states(t).size(); ++s)
        EXPECT_TRUE(
            SameBits(got.optimizer_states(t)[s].tensor, expected.optimizer_states(t)[s].tensor));
      EXPECT_EQ(got.iter(t), expected.iter(t));
    }
  }

  const std::vector<std::vector<int64_t>> first_ = {{1, 2, 1}, {5}, {0}},
                                          second_ = {{}, {1, 1}, {2, 2, 0}}, third_ = {{2}, {}, {}};
};

TEST_P(TableAccumulationTest, MicroBatchesAreOneStep) {
  TableBatchedEmbedding one = Tables(), cut = Tables();
  for (int step = 0; step < 2; ++step) {
    Step(one, Examples({first_, second_, third_}));
    cut.AccumulateForwards(3);
    const Tensor before = cut.weight(0).Clone(ctx());
    Step(cut, Examples({first_}));
    Step(cut, Examples({second_}));
    EXPECT_TRUE(SameBits(cut.weight(0), before)) << "updated before the last micro-batch";
    Step(cut, Examples({third_}));
  }
  ExpectEqual(cut, one);
  EXPECT_EQ(cut.iter(), 2);
}

TEST_P(TableAccumulationTest, IdsAndLengthsMayHave32Bits) {
  TableBatchedEmbedding one = Tables(), cut = Tables();
  Step(one, Examples({first_, second_}));
  cut.AccumulateForwards(2);
  Step(cut, Examples({first_}, DType::kI32));
  Step(cut, Examples({second_}, DType::kI32));
  ExpectEqual(cut, one);
}

TEST_P(TableAccumulationTest, WhatAnUnfinishedStepKeptIsForgotten) {
  TableBatchedEmbedding plain = Tables({}, Sgd{0.5f}), forgetful = Tables({}, Sgd{0.5f});
  Step(plain, Examples({second_}));
  forgetful.AccumulateForwards(2);
  Step(forgetful, Examples({first_}));
  forgetful.AccumulateForwards(1);
  Step(forgetful, Examples({second_}));
  EXPECT_TRUE(SameBits(forgetful.weight(0), plain.weight(0)));
}

TEST_P(TableAccumulationTest, ADenseTableGetsItsGradientOnce) {
  TableBatchedEmbedding one = Tables({}, Dense{}), cut = Tables({}, Dense{});
  Step(one, Examples({first_, second_}));
  cut.AccumulateForwards(2);
  Step(cut, Examples({first_}));
  EXPECT_FALSE(cut.weight_variable(0).grad().defined());
  Step(cut, Examples({second_}));
  EXPECT_TRUE(SameBits(cut.weight_variable(0).grad(), one.weight_variable(0).grad()));
}

TEST_P(TableAccumulationTest, BadIdsAreCountedOnce) {
  TableBatchedEmbedding cut = Tables({.bounds_check = BoundsCheckMode::kWarning});
  cut.AccumulateForwards(2);
  Step(cut, Examples({{{9}, {1}, {7}}}));
  Step(cut, Examples({{{1}, {-3}, {0}}}));
  EXPECT_EQ(cut.bounds_check_warnings(), 3);
}

TEST_P(TableAccumulationTest, RefusesWhatIsNoStep) {
  TableBatchedEmbedding tables = Tables();
  EXPECT_THAT([&] { tables.AccumulateForwards(0); },
              ThrowsMessage<Error>(HasSubstr("forwards of one step")));
  tables.AccumulateForwards(2);
  Step(tables, Examples({first_}));
  EXPECT_THAT([&] { tables.rows().Reset(ctx(), 0, Tensor::From<int64_t>(ctx(), {1})); },
              ThrowsMessage<Error>(HasSubstr("beside several forwards of one step")));
  EXPECT_THAT([&] { tables.AllowForwardsAhead(1); },
              ThrowsMessage<Error>(HasSubstr("beside several forwards of one step")));
  EXPECT_THAT(
      [&] {
        Step(tables, Examples({first_}).Permute(ctx(), {1, 0, 2}));
      },
      ThrowsMessage<Error>(HasSubstr("micro-batches of one step differ in their keys")));
}

TESSERA_INSTANTIATE_DEVICES(TableAccumulationTest);

}  // namespace
}  // namespace tessera
