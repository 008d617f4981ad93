// Tables whose rows come into use one after another, beside tables of the same rows that are all
// there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "embedding/embedding_bag_collection.h"
#include "embedding/lookup/index_remap.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/virtual_memory.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"
#include "tests/testing/rules.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

class GrowingTableTest : public testing::DeviceTest {
 protected:
  static constexpr int64_t kRows = 24, kDim = 6;

  static EmbeddingBagConfig Table(const std::string& name, std::vector<std::string> features,
                                  const AnyRule& rule, bool growing, DType type = DType::kF32) {
    EmbeddingBagConfig config;
    config.name = name;
    config.num_embeddings = kRows;
    config.embedding_dim = kDim;
    config.feature_names = std::move(features);
    config.optimizer = rule;
    config.growing = growing;
    config.data_type = config.state_type = type;
    config.stochastic_rounding = type != DType::kF32;
    return config;
  }
  // A table read by two features, beside one that is fixed.
  EmbeddingBagCollection Tables(const AnyRule& rule, bool growing, DType type) {
    return {ctx(),
            {Table("t", {"a", "b"}, rule, growing, type), Table("u", {"c"}, rule, false, type)},
            {.rounding_seed = 3}};
  }
  KeyedJaggedTensor Batch(int64_t step, int64_t rows) {
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < 18; ++i) ids.push_back((i * i + 5 * step + i) % rows);
    return KeyedJaggedTensor::FromLengthsSync(
        {"a", "b", "c"}, Tensor::From(ctx(), ids),
        Tensor::From<int64_t>(ctx(), {3, 0, 1, 2, 4, 2, 2, 2, 2}));
  }
  Tensor Train(EmbeddingBagCollection& tables, const KeyedJaggedTensor& kjt) {
    Tape tape(ctx());
    const Variable pooled = tables.Forward(ctx(), kjt).values();
    tape.Backward(Sum(ctx(), Mul(ctx(), pooled, pooled)));
    return pooled.value().ToHost();
  }
  // Rows [begin, end) of `to` become those of `from`.
  void CopyRows(TableBatchedEmbedding& from, TableBatchedEmbedding& to, int64_t begin,
                int64_t end) {
    to.weight(0).Rows(begin, end).CopyFrom(ctx(), from.weight(0).Rows(begin, end));
    for (size_t s = 0; s < to.optimizer_states(0).size(); ++s)
      to.optimizer_states(0)[s]
          .tensor.Rows(begin, end)
          .CopyFrom(ctx(), from.optimizer_states(0)[s].tensor.Rows(begin, end));
  }
};

TEST_P(GrowingTableTest, EveryRuleAndTypeHasTheBitsOfAFixedTable) {
  for (const AnyRule& rule : testing::AllRules())
    for (const DType type : {DType::kF32, DType::kBF16}) {
      SCOPED_TRACE(std::string(RuleName(rule)) + " " + ToString(type));
      EmbeddingBagCollection growing = Tables(rule, true, type), fixed = Tables(rule, false, type);
      fixed.tables().weight(1).CopyFrom(ctx(), growing.tables().weight(1));
      int64_t in_use = 0;
      for (int64_t step = 0; step < 6; ++step) {
        const int64_t rows = std::min(kRows, 5 + 4 * step);
        growing.tables().rows().SetInUse(ctx(), 0, rows);
        CopyRows(growing.tables(), fixed.tables(), in_use, rows);
        in_use = rows;
        const KeyedJaggedTensor kjt = Batch(step, rows);
        ASSERT_TRUE(SameBits(Train(growing, kjt), Train(fixed, kjt))) << step;
      }
      ASSERT_TRUE(SameBits(growing.tables().weight(0).ToHost(),
                           fixed.tables().weight(0).Rows(0, in_use).ToHost()));
    }
}

TEST_P(GrowingTableTest, ShowsTheRowsInUse) {
  EmbeddingBagCollection collection = Tables(RowwiseAdagrad{0.1f}, true, DType::kF32);
  TableBatchedEmbedding& tables = collection.tables();
  EXPECT_EQ(tables.rows().in_use(0), 0);
  EXPECT_EQ(tables.rows().in_use(1), kRows);
  // Ids of rows that are not in use add nothing.
  const Tensor none = collection.Forward(ctx(), Batch(0, kRows)).values().value();
  for (const float value : none.Narrow(1, 0, 2 * kDim).Clone(ctx()).ToVector<float>())
    EXPECT_EQ(value, 0);
  tables.rows().SetInUse(ctx(), 0, 9);
  EXPECT_EQ(tables.weight(0).shape(), Shape({9, kDim}));
  EXPECT_EQ(tables.optimizer_states(0)[0].tensor.shape(), Shape({9}));
  const float* where = static_cast<const float*>(tables.weight(0).raw_data());
  tables.rows().SetInUse(ctx(), 0, 20);
  EXPECT_EQ(tables.weight(0).raw_data(), where);  // nothing moves
}

TEST_P(GrowingTableTest, StatesOfNewRowsAreZeroButTheSlowCopy) {
  for (const AnyRule& rule : testing::AllRules()) {
    EmbeddingBagCollection collection = Tables(rule, true, DType::kF32);
    TableBatchedEmbedding& tables = collection.tables();
    tables.set_iter(5);
    tables.rows().SetInUse(ctx(), 0, 9);
    for (const OptimizerState& state : tables.optimizer_states(0)) {
      const bool copy =
          std::holds_alternative<EnsembleRowwiseAdagrad>(rule) && state.name.ends_with("momentum2");
      const Tensor want = copy ? tables.weight(0) : Tensor::Zeros(ctx(), state.tensor.shape());
      EXPECT_TRUE(SameBits(state.tensor.ToHost(), want.ToHost())) << state.name;
    }
  }
}

TEST_P(GrowingTableTest, ARowThatIsGivenAwayStartsAnew) {
  EmbeddingBagCollection collection = Tables(RowwiseAdagrad{0.1f}, true, DType::kF32);
  TableBatchedEmbedding& tables = collection.tables();
  tables.rows().SetInUse(ctx(), 0, 9);
  const Tensor first = tables.weight(0).Clone(ctx()).ToHost();
  Train(collection, Batch(0, 9));
  tables.rows().Reset(ctx(), 0, Tensor::From<int64_t>(ctx(), {2, 4}), TableRows::ResetTo::kInitial);
  const Tensor again = tables.weight(0).ToHost();
  const auto [low, high] = InitRange(tables.table(0));
  for (const int64_t row : {2, 4}) {
    EXPECT_FALSE(SameBits(first.Rows(row, row + 1), again.Rows(row, row + 1)));
    for (const float value : again.Rows(row, row + 1).ToVector<float>()) {
      EXPECT_GE(value, low);
      EXPECT_LT(value, high);
    }
    EXPECT_EQ(tables.optimizer_states(0)[0].tensor.ToVector<float>()[static_cast<size_t>(row)], 0);
  }
}

TEST_P(GrowingTableTest, WhatMakesNoSenseIsRefused) {
  const auto made = [&](EmbeddingBagConfig config) {
    return ErrorOf([&] { EmbeddingBagCollection(ctx(), {config}); });
  };
  EXPECT_THAT(made(Table("t", {"a"}, Dense{}, true)), HasSubstr("table t: it grows"));
  EmbeddingBagConfig config = Table("t", {"a"}, Sgd{}, true);
  config.location = EmbeddingLocation::kManagedCaching;
  EXPECT_THAT(made(config), HasSubstr("MANAGED_CACHING"));
  EmbeddingBagCollection collection = Tables(Sgd{}, true, DType::kF32);
  const auto set = [&](int table, int64_t rows) {
    return ErrorOf([&] { collection.tables().rows().SetInUse(ctx(), table, rows); });
  };
  EXPECT_THAT(set(1, 3), HasSubstr("it does not grow"));
  EXPECT_THAT(set(0, kRows + 1), HasSubstr("25 rows in use; expected 0 to 24"));
  EXPECT_THAT(ErrorOf([&] {
                collection.tables().rows().Reset(ctx(), 0, Tensor::From<int64_t>(ctx(), {0}));
              }),
              HasSubstr("there are 0 rows"));
}

TESSERA_INSTANTIATE_DEVICES(GrowingTableTest);

// Rows and states of a table for which there is no memory.
TEST(GrowingTableMemoryTest, TakesMemoryForRowsInUseAlone) {
  Context ctx;
  EmbeddingBagConfig config;
  config.name = "t";
  config.num_embeddings = int64_t{1} << 31;
  config.embedding_dim = 64;
  config.feature_names = {"a"};
  config.optimizer = Adam{};
  config.growing = true;
  EmbeddingBagCollection collection(ctx, {config});
  collection.tables().rows().SetInUse(ctx, 0, 10000);
  const int64_t needed = 10000 * 64 * 4;
  int64_t resident = ResidentBytes(collection.tables().weight(0));
  EXPECT_GE(resident, needed);
  for (const OptimizerState& state : collection.tables().optimizer_states(0))
    resident += ResidentBytes(state.tensor);
  EXPECT_LE(resident, 3 * (needed + (2 << 20)));
}

}  // namespace
}  // namespace tessera
