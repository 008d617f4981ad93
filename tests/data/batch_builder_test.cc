#include "data/batch_builder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/batch_source.h"
#include "data/files/criteo_stream.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;

ClickRow RowWith(int category, uint64_t value) {
  ClickRow row;
  row.categories_present = 1u << category;
  row.categories[category] = value;
  return row;
}

std::vector<int64_t> Ids(Context& ctx, const KeyedJaggedTensor& features) {
  return features.values().To(ctx, DType::kI64).ToVector<int64_t>();
}

TEST(BatchBuilder, DenseIsLogOfOnePlus) {
  Context ctx({.threads = 1});
  ClickRow row;
  row.integers_present = 0x3f;
  const std::vector<int64_t> integers = {0, 1, -5, 4095, 4096, 123456789};
  std::copy(integers.begin(), integers.end(), row.integers);
  row.label = 1;
  const Batch batch = BatchBuilder({{"cat_0", 10}}, MissingIds::kRow0)
                          .Build(ctx, std::vector<ClickRow>{row, ClickRow{}});
  EXPECT_EQ(batch.dense.shape(), (Shape{2, 13}));
  for (size_t i = 0; i < 13; ++i) {
    const double x =
        i < integers.size() ? std::max<double>(0, static_cast<double>(integers[i])) : 0;
    EXPECT_EQ(batch.dense.data<float>()[i], static_cast<float>(std::log1p(x))) << i;
    EXPECT_EQ(batch.dense.data<float>()[13 + i], 0.0f);
  }
  EXPECT_EQ(batch.labels.ToVector<float>(), (std::vector<float>{1, 0}));
  EXPECT_EQ(batch.size(), 2);
}

TEST(BatchBuilder, MissingAsRowZero) {
  Context ctx({.threads = 1});
  const std::vector<ClickRow> rows = {RowWith(3, 0), RowWith(3, 98), RowWith(3, 99),
                                      RowWith(3, 0xffffffff), RowWith(0, 7)};
  const Batch batch =
      BatchBuilder({{"cat_3", 100}, {"cat_0", 5}}, MissingIds::kRow0).Build(ctx, rows);
  EXPECT_EQ(batch.features.keys(), (std::vector<std::string>{"cat_3", "cat_0"}));
  EXPECT_EQ(batch.features.values().dtype(), DType::kI32);
  EXPECT_EQ(Ids(ctx, batch.features),
            (std::vector<int64_t>{1, 99, 0, (int64_t{0xffffffff} + 1) % 100, 0, 0, 0, 0, 0, 3}));
  EXPECT_EQ(batch.features.lengths(ctx).ToVector<int32_t>(), std::vector<int32_t>(10, 1));
}

TEST(BatchBuilder, RawIdsStayAsTheyAre) {
  Context ctx({.threads = 1});
  const std::vector<ClickRow> rows = {RowWith(3, 0), RowWith(3, 0xfedcba9876543210),
                                      RowWith(0, 0xffffffff)};
  const std::vector<CategoricalFeature> features = {{"cat_3", 5, true}, {"cat_0", 7}};
  const Batch row0 = BatchBuilder(features, MissingIds::kRow0).Build(ctx, rows);
  EXPECT_EQ(row0.features.values().dtype(), DType::kI64);
  EXPECT_EQ(Ids(ctx, row0.features),
            (std::vector<int64_t>{1, static_cast<int64_t>(0xfedcba9876543211), 0, 0, 0,
                                  (int64_t{0xffffffff} + 1) % 7}));
  const Batch empty = BatchBuilder(features, MissingIds::kEmptyBag).Build(ctx, rows);
  EXPECT_EQ(Ids(ctx, empty.features),
            (std::vector<int64_t>{0, static_cast<int64_t>(0xfedcba9876543210), 0xffffffff % 7}));
}

TEST(BatchBuilder, MissingAsEmptyBag) {
  Context ctx({.threads = 1});
  const std::vector<ClickRow> rows = {RowWith(3, 0), RowWith(3, 199), RowWith(0, 7)};
  const Batch batch =
      BatchBuilder({{"cat_3", 100}, {"cat_0", 5}}, MissingIds::kEmptyBag).Build(ctx, rows);
  EXPECT_EQ(Ids(ctx, batch.features), (std::vector<int64_t>{0, 99, 2}));
  EXPECT_EQ(batch.features.lengths(ctx).ToVector<int32_t>(),
            (std::vector<int32_t>{1, 1, 0, 0, 0, 1}));
}

class Moduli : public ::testing::TestWithParam<int64_t> {};

TEST_P(Moduli, AreThoseOfBigIntegers) {
  Context ctx({.threads = 1});
  const int64_t rows = GetParam();
  const BatchBuilder plus_one({{"cat_0", rows}}, MissingIds::kRow0),
      plain({{"cat_0", rows}}, MissingIds::kEmptyBag);
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{1}, uint64_t{0xfffffffe}, uint64_t{0xffffffff}, uint64_t{0x100000000},
        uint64_t{0x123456789abcdef0}, ~uint64_t{1}, ~uint64_t{0}}) {
    const std::vector<ClickRow> one = {RowWith(0, value)};
    const auto mod = [&](unsigned __int128 v) {
      return static_cast<int64_t>(v % static_cast<unsigned __int128>(rows));
    };
    EXPECT_EQ(Ids(ctx, plus_one.Build(ctx, one).features)[0],
              mod(static_cast<unsigned __int128>(value) + 1))
        << value;
    EXPECT_EQ(Ids(ctx, plain.Build(ctx, one).features)[0], mod(value)) << value;
  }
}
INSTANTIATE_TEST_SUITE_P(Rows, Moduli,
                         ::testing::Values(1, 2, 3, 100000, 1 << 20, 2147483647, 2147483648,
                                           4294967295, 4294967296, 4294967297,
                                           (int64_t{1} << 40) + 15));

TEST(BatchBuilder, BigTablesTakeLongIds) {
  Context ctx({.threads = 1});
  const BatchBuilder builder({{"cat_0", 10}, {"cat_1", int64_t{1} << 31}}, MissingIds::kRow0);
  EXPECT_EQ(builder.Build(ctx, std::vector<ClickRow>(1)).features.values().dtype(), DType::kI64);
}

TEST(BatchBuilder, Errors) {
  EXPECT_EQ(ErrorOf([] {
              BatchBuilder({{"user", 5}}, MissingIds::kRow0);
            }),
            "feature 'user': the data has cat_0 to cat_25");
  for (const char* bad : {"cat_26", "cat_01", "cat_", "cat_-1", "cat_1x", "Cat_1", ""})
    EXPECT_THROW(CategoryColumn(bad), std::exception) << bad;
  EXPECT_EQ(CategoryColumn("cat_25"), 25);
  EXPECT_THROW(BatchBuilder({{"cat_1", 5}, {"cat_1", 5}}, MissingIds::kRow0), std::exception);
  EXPECT_THROW(BatchBuilder({{"cat_1", 0}}, MissingIds::kRow0), std::exception);
  EXPECT_THROW(ParseMissingIds("none"), std::exception);
  EXPECT_EQ(ParseMissingIds("empty_bag"), MissingIds::kEmptyBag);
}

TEST(BatchSource, KeepsFileOrderAndTheLastPartialBatch) {
  Context ctx({.threads = 1});
  const std::string path = testing::WriteFile("rows.tsv", testing::NumberedLines(0, 23));
  BatchSource source(std::make_unique<CriteoStream>(CriteoFiles{{path}}, RowRange{2, 23}),
                     BatchBuilder({{"cat_0", 1000}}, MissingIds::kEmptyBag), 8);
  std::vector<int64_t> ids, sizes, first_rows, end_rows;
  double fraction = 0;
  while (const auto batch = source.Next()) {
    for (const int64_t id : Ids(ctx, batch->features)) ids.push_back(id);
    EXPECT_GT(batch->fraction, fraction);
    fraction = batch->fraction.value();
    sizes.push_back(batch->size());
    first_rows.push_back(batch->first_row);
    end_rows.push_back(batch->end_row);
  }
  ASSERT_EQ(ids.size(), 21u);
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], static_cast<int64_t>(i) + 2);
  EXPECT_EQ(sizes, (std::vector<int64_t>{8, 8, 5}));
  EXPECT_EQ(first_rows, (std::vector<int64_t>{2, 10, 18}));
  EXPECT_EQ(end_rows, (std::vector<int64_t>{10, 18, 23}));
  EXPECT_EQ(fraction, 1);
  EXPECT_FALSE(source.Next());
}

}  // namespace
}  // namespace tessera
