// Rows that take memory as they come into use: which have started, what others are read as, and
// what a table takes for which there is no memory.
#include "embedding/storage/rows_on_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "embedding/table/table_start.h"
#include "embedding/table_batched_embedding.h"
#include "runtime/fill_uniform.h"
#include "runtime/ops/arithmetic.h"
#include "tests/testing/error_of.h"
#include "tests/testing/rules.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

constexpr int64_t kRows = 70, kDim = 6;

std::vector<int64_t> AllRows(int64_t rows = kRows) {
  std::vector<int64_t> all(static_cast<size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Tensor ShapeOf(const Shape& shape, DType dtype = DType::kF32) {
  return Tensor::Borrow(nullptr, shape, dtype);
}

class RowsOnUseTest : public ::testing::Test {
 protected:
  RowsOnUseTest()
      : rows_(Parts(), {.low = -1,
                        .high = 1,
                        .seed = 5,
                        .sequence = 2,
                        .first = 3 * kDim,
                        .row_elements = kDim}) {}
  static std::vector<Tensor> Parts() { return {ShapeOf({kRows, kDim}), ShapeOf({kRows})}; }

  // Returns what the rows start with: rows 3 to 72 of a larger table.
  static Tensor Starts() {
    Context ctx({.threads = 1, .seed = 5});
    Tensor starts = Tensor::Empty(ctx, {kRows, kDim});
    FillUniformFrom(ctx, starts, -1, 1, 2, 3 * kDim);
    return starts;
  }
  Tensor ReadAll(int part = 0) {
    Tensor read = Tensor::EmptyHost(Parts()[static_cast<size_t>(part)].shape());
    rows_.Read(part, AllRows(), read.raw_data());
    return read;
  }
  void Write(int part, const std::vector<int64_t>& rows, const std::vector<float>& values) {
    rows_.Write(part, rows, values.data());
  }
  std::vector<float> StartOf(int64_t row) const {
    return Starts().Rows(row, row + 1).ToVector<float>();
  }

  Context ctx_{{.threads = 1}};
  RowsOnUse rows_;
};

TEST_F(RowsOnUseTest, HasAllRowsWhicheverHaveStarted) {
  EXPECT_TRUE(SameBits(ReadAll(), Starts()));
  EXPECT_TRUE(SameBits(ReadAll(1), Tensor::Zeros(ctx_, {kRows})));
  EXPECT_EQ(rows_.num_started(), 0);
  // Repeated ids, rows in no order, and numbers that name no row.
  rows_.Start(Tensor::From<int64_t>(ctx_, {7, 69, 8, 7, -1, kRows, 0}));
  rows_.Start(Tensor::From<int32_t>(ctx_, {8, 9}));
  EXPECT_EQ(rows_.num_started(), 5);
  EXPECT_TRUE(SameBits(ReadAll(), Starts()));
  EXPECT_TRUE(SameBits(rows_.parts()[0].Rows(7, 10), Starts().Rows(7, 10)));
  EXPECT_EQ(rows_.parts()[0].data<float>()[6 * kDim], 0);  // a row that has not
}

TEST_F(RowsOnUseTest, ARowThatIsWrittenAsItIsDoesNotStart) {
  const Tensor all = Starts(), zeros = Tensor::Zeros(ctx_, {kRows});
  rows_.Write(0, AllRows(), all.raw_data());
  rows_.Write(1, AllRows(), zeros.raw_data());
  EXPECT_EQ(rows_.num_started(), 0);
  const std::vector<float> nines(kDim, 9);
  Write(0, {4}, nines);
  Write(1, {11}, {0.5f});  // a state alone
  EXPECT_EQ(rows_.num_started(), 2);
  EXPECT_EQ(ReadAll().Rows(4, 5).ToVector<float>(), nines);
  EXPECT_EQ(ReadAll().Rows(11, 12).ToVector<float>(), StartOf(11));
  EXPECT_EQ(ReadAll(1).ToVector<float>()[11], 0.5f);
  EXPECT_EQ(ReadAll(1).ToVector<float>()[4], 0.0f);
}

TEST_F(RowsOnUseTest, OfARowThatComesAgainTheLastCounts) {
  std::vector<float> values(kDim, 9);
  const std::vector<float> start = StartOf(4);
  values.insert(values.end(), start.begin(), start.end());
  Write(0, {4, 4}, values);
  EXPECT_EQ(ReadAll().Rows(4, 5).ToVector<float>(), start);
}

TEST_F(RowsOnUseTest, ARowThatIsOutOfRangeIsAnError) {
  std::vector<float> values(2 * kDim, 9);
  EXPECT_THAT(ErrorOf([&] { Write(0, {1, kRows}, values); }), HasSubstr("row 70 of a table of 70"));
  EXPECT_THAT(ErrorOf([&] { rows_.Read(0, std::vector<int64_t>{-1}, values.data()); }),
              HasSubstr("row -1 of a table of 70"));
  EXPECT_EQ(rows_.num_started(), 0);
}

// A table whose rows and states would take 160 GiB.
TEST(RowsOnUseMemoryTest, TakesMemoryForStartedRowsAlone) {
  Context ctx({.threads = 1});
  constexpr int64_t kMany = int64_t{1} << 28, kWide = 64, kStarted = 10000;
  RowsOnUse rows(std::vector<Tensor>{ShapeOf({kMany, kWide}), ShapeOf({kMany, kWide}),
                                     ShapeOf({kMany, kWide}, DType::kBF16)},
                 {.low = -1, .high = 1, .seed = 5, .sequence = 2, .row_elements = kWide});
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < kStarted; ++i) ids.push_back(kMany / 2 + i);
  rows.Start(Tensor::From(ctx, ids));
  std::vector<float> first(kWide);
  rows.Read(0, std::vector<int64_t>{kMany - 1}, first.data());
  EXPECT_NE(first[0], 0);
  EXPECT_EQ(rows.num_started(), kStarted);
  const int64_t needed = kStarted * kWide * 4;
  EXPECT_GE(rows.ResidentBytes(), needed);
  EXPECT_LE(rows.ResidentBytes(), 4 * (needed + (4 << 20)));
}

// ---- tables

class TablesOnUseTest : public ::testing::Test {
 protected:
  // A table read by two features, beside one of 16 bits. Under `on_use` both grow, and have all
  // rows from the start.
  static TableBatchedEmbedding Tables(const AnyRule& rule, bool on_use) {
    Context same({.threads = 1, .seed = 3});
    std::vector<BaseEmbeddingConfig> configs(2);
    for (size_t t = 0; t < 2; ++t) {
      configs[t].name = "t" + std::to_string(t);
      configs[t].num_embeddings = kRows;
      configs[t].embedding_dim = t == 0 ? 4 : kDim;
      configs[t].optimizer = rule;
      if (!on_use) continue;
      configs[t].growing = true;
      configs[t].place.all_rows = true;
    }
    configs[1].data_type = configs[1].state_type = DType::kF16;
    configs[1].stochastic_rounding = true;
    return {same,
            configs,
            {PoolingType::kSum, PoolingType::kMean},
            {{"f0", 0, "a"}, {"f1", 1, "b"}, {"f2", 1, "c"}},
            {.bounds_check = BoundsCheckMode::kIgnore, .rounding_seed = 9}};
  }
  // Few rows, and ids that name none.
  KeyedJaggedTensor Batch(int64_t step) {
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < 18; ++i) ids.push_back((i * i + step) % 20 * 4 - (i == 5 ? 100 : 0));
    return KeyedJaggedTensor::FromLengthsSync(
        {"a", "b", "c"}, Tensor::From(ctx_, ids),
        Tensor::From<int64_t>(ctx_, {3, 0, 1, 2, 4, 2, 2, 2, 2}));
  }
  Tensor Train(TableBatchedEmbedding& tables, const KeyedJaggedTensor& kjt) {
    Tape tape(ctx_);
    const Variable out = tables.Forward(ctx_, kjt);
    tape.Backward(Sum(ctx_, Mul(ctx_, out, out)));
    return out.value();
  }
  void Reset(TableBatchedEmbedding& tables, TableRows::ResetTo to) {
    Context same({.threads = 1, .seed = 11});
    tables.rows().Reset(same, 1, Tensor::From<int64_t>(same, {4, 33}), to);
  }
  void ExpectSameContents(TableBatchedEmbedding& plain, TableBatchedEmbedding& on_use) {
    const Tensor ids = Tensor::From(ctx_, AllRows());
    for (int t = 0; t < 2; ++t)
      for (int p = 0; p < plain.rows().num_parts(t); ++p)
        EXPECT_TRUE(
            SameBits(plain.rows().Take(ctx_, t, p, ids), on_use.rows().Take(ctx_, t, p, ids)))
            << "table " << t << ", part " << p;
  }

  Context ctx_{{.threads = 1}};
};

TEST_F(TablesOnUseTest, GiveTheBitsOfTablesWithAllRowsByEveryRule) {
  for (const AnyRule& rule : testing::AllRules()) {
    if (internal::ActsBeforeLookup(rule)) continue;  // on whole tables
    SCOPED_TRACE(RuleName(rule));
    TableBatchedEmbedding plain = Tables(rule, false), on_use = Tables(rule, true);
    for (int64_t step = 0; step < 6; ++step) {
      ASSERT_TRUE(SameBits(Train(plain, Batch(step)), Train(on_use, Batch(step)))) << step;
      for (TableBatchedEmbedding* tables : {&plain, &on_use})
        Reset(*tables, step % 2 == 0 ? TableRows::ResetTo::kInitial : TableRows::ResetTo::kZero);
      const KeyedJaggedTensor read = Batch(step + 50);
      ASSERT_TRUE(SameBits(plain.Forward(ctx_, read).value(), on_use.Forward(ctx_, read).value()));
    }
    ExpectSameContents(plain, on_use);
  }
}

}  // namespace
}  // namespace tessera
