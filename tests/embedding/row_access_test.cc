#include "embedding/lookup/row_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "embedding/table_batched_embedding.h"
#include "runtime/ops/arithmetic.h"
#include "tests/embedding/small_tables.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class RowAccessTest : public testing::DeviceTest {
 protected:
  template <typename Id = int64_t>
  Tensor Ids(const std::vector<Id>& ids) {
    return Tensor::From(ctx(), ids);
  }
  Tensor Counting(const Shape& shape, DType type) {
    std::vector<float> values(static_cast<size_t>(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return Tensor::From(ctx(), shape, values).To(ctx(), type);
  }
  std::vector<float> Floats(const Tensor& t) { return t.To(ctx(), DType::kF32).ToVector<float>(); }
};

TEST_P(RowAccessTest, ReadsAndWritesRowsOfEveryType) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    const Tensor table = Counting({4, 2}, type);
    EXPECT_THAT(ReadRows(ctx(), table, Ids<int64_t>({3, 0, 3})).ToVector<float>(),
                ElementsAre(6, 7, 0, 1, 6, 7));
    WriteRows(ctx(), table, Ids<int32_t>({2, 1}),
              Tensor::From<float>(ctx(), {2, 2}, {-1, -2, -3, 1.00293f}));
    const float rounded = Floats(Tensor::Full(ctx(), {1}, 1.00293f, type))[0];
    EXPECT_THAT(Floats(table), ElementsAre(0, 1, -3, rounded, -1, -2, 6, 7));
    FillRows(ctx(), table, Ids<int64_t>({0, 0}), 5);
    EXPECT_EQ(Floats(table)[1], 5);
    EXPECT_EQ(Floats(table)[2], -3);
  }
}

TEST_P(RowAccessTest, StatesOfOneNumberARowTakeTheSameCalls) {
  const Tensor state = Counting({4}, DType::kF32);
  const Tensor read = ReadRows(ctx(), state, Ids<int64_t>({2}));
  EXPECT_EQ(read.shape(), (Shape{1}));
  EXPECT_THAT(read.ToVector<float>(), ElementsAre(2));
  WriteRows(ctx(), state, Ids<int64_t>({3}), Tensor::From<float>(ctx(), {7}));
  EXPECT_THAT(Floats(state), ElementsAre(0, 1, 2, 7));
}

TEST_P(RowAccessTest, OfAnIdThatComesAgainTheLastRowCounts) {
  std::mt19937 random(1);
  std::vector<int64_t> ids(3000);
  std::vector<float> rows, expected(37 * 3, -1);
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int64_t>(random() % 37);
    for (size_t d = 0; d < 3; ++d) {
      rows.push_back(static_cast<float>(i * 3 + d));
      expected[static_cast<size_t>(ids[i]) * 3 + d] = rows.back();
    }
  }
  const Tensor table = Tensor::Full(ctx(), {37, 3}, -1);
  WriteRows(ctx(), table, Ids(ids), Tensor::From(ctx(), {3000, 3}, rows));
  EXPECT_EQ(Floats(table), expected);
}

TEST_P(RowAccessTest, PutsRowsOfAnyTypeBitForBit) {
  for (const DType type : {DType::kI64, DType::kF16, DType::kU8, DType::kF32}) {
    const Tensor table = Counting({4, 3}, type);
    PutRows(ctx(), table, Ids<int64_t>({2, 1, 2}), Counting({3, 3}, type));
    EXPECT_THAT(Floats(table), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)) << ToString(type);
    PutRows(ctx(), table, Ids<int32_t>({3, 0}), Counting({2, 3}, type));
    EXPECT_THAT(Floats(table), ElementsAre(3, 4, 5, 3, 4, 5, 6, 7, 8, 0, 1, 2)) << ToString(type);
  }
  const Tensor table = Counting({4}, DType::kI32);
  EXPECT_THROW(PutRows(ctx(), table, Ids<int64_t>({1}), Counting({1}, DType::kI64)), Error);
  EXPECT_THROW(PutRows(ctx(), table, Ids<int64_t>({4}), Counting({1}, DType::kI32)), Error);
}

TEST_P(RowAccessTest, IdsThatNameNoRowAreErrors) {
  const Tensor table = Counting({4, 2}, DType::kF32);
  EXPECT_THAT(
      [&] {
        ReadRows(ctx(), table, Ids<int64_t>({0, 4, -1}));
      },
      ThrowsMessage<Error>(HasSubstr("id 4 at position 1, but there are 4 rows")));
  EXPECT_THAT([&] { FillRows(ctx(), table, Ids<int32_t>({-1}), 0); },
              ThrowsMessage<Error>(HasSubstr("id -1 at position 0")));
  EXPECT_THROW(WriteRows(ctx(), table, Ids<int64_t>({1}), Tensor::Zeros(ctx(), {1, 3})), Error);
  EXPECT_THROW(ReadRows(ctx(), table, Tensor::Zeros(ctx(), {1})), Error);
  EXPECT_EQ(ReadRows(ctx(), table, Ids<int64_t>({})).shape(), (Shape{0, 2}));
  WriteRows(ctx(), table, Ids<int64_t>({}), Tensor::Zeros(ctx(), {0, 2}));
  EXPECT_TRUE(SameBits(table, Counting({4, 2}, DType::kF32)));
}

TEST_P(RowAccessTest, ResetRowsForgetWhatWasTrained) {
  for (const DType type : {DType::kF32, DType::kBF16}) {
    BaseEmbeddingConfig config =
        testing::Filled(testing::SmallTable("t", 3, 2, RowwiseAdagrad{1.0f}), 5);
    config.data_type = config.state_type = type;
    TableBatchedEmbedding tables(ctx(), {config}, {PoolingType::kSum}, {{"a", 0, "a"}});
    const KeyedJaggedTensor kjt =
        KeyedJaggedTensor::FromLengthsSync({"a"}, Ids<int64_t>({0, 1, 2}), Ids<int64_t>({3}));
    {
      Tape tape(ctx());
      const Variable out = tables.Forward(ctx(), kjt);
      tape.Backward(out, Tensor::Full(ctx(), out.shape(), 1));
    }
    using Reset = TableRows::ResetTo;
    tables.rows().Reset(ctx(), 0, Ids<int64_t>({1}));
    tables.rows().Reset(ctx(), 0, Ids<int64_t>({2}), Reset::kInitial);
    EXPECT_THAT(Floats(tables.weight(0)), ElementsAre(4, 4, 0, 0, 5, 5));
    EXPECT_THAT(Floats(tables.optimizer_states(0)[0].tensor), ElementsAre(1, 0, 0));
    EXPECT_THAT([&] { tables.rows().Reset(ctx(), 0, Ids<int64_t>({3})); },
                ThrowsMessage<Error>(HasSubstr("table t: id 3")));
  }
}

TEST_P(RowAccessTest, ResetRowsHaveASlowCopyOnceTheTableHas) {
  for (const auto mode : {EnsembleStepMode::kUseIter, EnsembleStepMode::kNone}) {
    const BaseEmbeddingConfig config = testing::Filled(
        testing::SmallTable("t", 3, 2, EnsembleRowwiseAdagrad{.step_ema = 4, .step_mode = mode}),
        5);
    TableBatchedEmbedding tables(ctx(), {config}, {PoolingType::kSum}, {{"a", 0, "a"}});
    const auto slow = [&] { return Floats(tables.optimizer_states(0)[1].tensor); };
    tables.set_iter(3);
    tables.rows().Reset(ctx(), 0, Ids<int64_t>({0}), TableRows::ResetTo::kInitial);
    EXPECT_THAT(slow(), Each(0));
    tables.set_iter(4);
    tables.rows().Reset(ctx(), 0, Ids<int64_t>({1}), TableRows::ResetTo::kInitial);
    tables.rows().Reset(ctx(), 0, Ids<int64_t>({2}));
    const float copied = mode == EnsembleStepMode::kUseIter ? 5 : 0;
    EXPECT_THAT(slow(), ElementsAre(0, 0, copied, copied, 0, 0));
  }
}

TESSERA_INSTANTIATE_DEVICES(RowAccessTest);

}  // namespace
}  // namespace tessera
