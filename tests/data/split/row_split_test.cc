// Which rows a split keeps for evaluation, and tables of some of a table's rows.
#include "data/split/row_split.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "data/first_ids.h"
#include "data/split/last_time.h"
#include "data/split/row_subset.h"
#include "data/split/split_counts.h"
#include "data/split/split_table.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;

// Row n has the number n, user n mod 50 (every 10th row none) and time n mod 7.
class Numbered final : public RowTable {
 public:
  explicit Numbered(int64_t rows) : rows_(rows) {}
  int64_t rows() const override { return rows_; }
  Batch Gather(Context& ctx, std::span<const int64_t> rows) const override {
    std::vector<int64_t> numbers(rows.begin(), rows.end()), users, times;
    std::vector<int32_t> lengths;
    for (const int64_t n : rows) {
      times.push_back(n % 7);
      lengths.push_back(n % 10 == 0 ? 0 : 1);
      if (n % 10 != 0) users.push_back(n % 50);
    }
    Batch batch;
    batch.labels = Tensor::Zeros(ctx, {std::ssize(numbers)});
    batch.time = Tensor::From<int64_t>(ctx, times);
    batch.dense = Tensor::From<int64_t>(ctx, numbers);
    batch.features = KeyedJaggedTensor::FromLengthsSync({"user"}, Tensor::From<int64_t>(ctx, users),
                                                        Tensor::From<int32_t>(ctx, lengths));
    return batch;
  }

 private:
  int64_t rows_;
};

std::vector<int64_t> NumbersOf(const RowTable& table) {
  Context ctx({.threads = 1});
  std::vector<int64_t> rows(static_cast<size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  return table.Gather(ctx, rows).dense.ToVector<int64_t>();
}

// ---- what is decided

// Written down, so that no change moves rows of a training from one part to the other.
TEST(RowFilter, DecidesAsItEverDid) {
  const RowFilter random({.fraction = 0.1, .seed = 1}, RowPart::kEval);
  const RowFilter key({.by = SplitBy::kKey, .fraction = 0.1, .seed = 1}, RowPart::kEval);
  std::vector<int64_t> rows, ids;
  for (int64_t n = 0; n < 100; ++n) {
    if (random.TakesNumber(n)) rows.push_back(n);
    if (key.TakesFirstId(n)) ids.push_back(n);
  }
  EXPECT_EQ(rows, (std::vector<int64_t>{47, 48, 64, 89, 93}));
  EXPECT_EQ(ids, (std::vector<int64_t>{4, 13, 25, 31, 35, 36, 42, 60, 63, 90}));
}

TEST(RowFilter, TakesItsFractionAndTheOtherPartTheRest) {
  for (const double fraction : {0.01, 0.5, 0.9})
    for (const uint64_t seed : {1, 2}) {
      const SplitOptions options{.fraction = fraction, .seed = seed};
      const RowFilter eval(options, RowPart::kEval), train(options, RowPart::kTrain);
      int64_t taken = 0;
      for (int64_t n = 0; n < 20'000; ++n) {
        taken += eval.TakesNumber(n);
        ASSERT_NE(eval.TakesNumber(n), train.TakesNumber(n));
      }
      // Six deviations of a binomial distribution.
      EXPECT_NEAR(static_cast<double>(taken), 20'000 * fraction,
                  6 * std::sqrt(20'000 * fraction * (1 - fraction)));
    }
}

TEST(RowFilter, ALargerFractionAddsRows) {
  const RowFilter small({.fraction = 0.1}, RowPart::kEval),
      large({.fraction = 0.2}, RowPart::kEval);
  for (int64_t n = 0; n < 5000; ++n) EXPECT_LE(small.TakesNumber(n), large.TakesNumber(n));
}

TEST(RowFilter, TimesAreForEvaluationFromTheirBeginOn) {
  const SplitOptions options{.by = SplitBy::kTime, .at = -5};
  const RowFilter eval(options, RowPart::kEval), train(options, RowPart::kTrain);
  EXPECT_TRUE(eval.TakesTime(-5) && eval.TakesTime(0) && !eval.TakesTime(-6));
  EXPECT_TRUE(train.TakesTime(-6) && !train.TakesTime(-5));
}

TEST(RowPart, HasAWord) {
  for (const RowPart part : {RowPart::kAll, RowPart::kTrain, RowPart::kEval})
    EXPECT_EQ(ParseRowPart(ToString(part)), part);
  EXPECT_EQ(ErrorOf([] { ParseRowPart("test"); }), "part 'test': expected train, eval or all");
}

// ---- the last times

TEST(LastTime, IsThatOfTheLastFraction) {
  LastTime times;
  std::vector<int64_t> all(1000);
  for (int64_t i = 0; i < 1000; ++i) all[static_cast<size_t>(i)] = i * 371 % 1000;
  times.Add(all);
  EXPECT_EQ(times.Begin(0.1), 900);
  EXPECT_EQ(times.Begin(0.25), 750);
  EXPECT_EQ(times.Begin(0.0001), 999);
  EXPECT_EQ(times.Begin(0.9999), 1);
}

TEST(LastTime, RowsOfOneTimeStayTogether) {
  LastTime times;
  times.Add(std::vector<int64_t>{1, 1, 1, 1, 1, 1, 1, 5, 5, 9});
  EXPECT_EQ(times.Begin(0.1), 9);
  EXPECT_EQ(times.Begin(0.2), 5);
  EXPECT_EQ(times.Begin(0.7), 5);  // not all rows
}

TEST(LastTime, OneTimeCannotBeSplit) {
  LastTime times;
  EXPECT_NE(ErrorOf([&] { times.Begin(0.5); }).find("needs rows, got none"), std::string::npos);
  times.Add(std::vector<int64_t>{4, 4});
  EXPECT_NE(ErrorOf([&] { times.Begin(0.5); }).find("all have the time 4"), std::string::npos);
}

TEST(LastTime, OfManyRowsIsNear) {
  LastTime times;
  constexpr int64_t kRows = 3'000'000;
  std::vector<int64_t> some(1000);
  for (int64_t i = 0; i < kRows; i += std::ssize(some)) {
    for (size_t j = 0; j < some.size(); ++j)
      some[j] = (i + static_cast<int64_t>(j)) * 1'299'709 % kRows;  // each once
    times.Add(some);
  }
  EXPECT_NEAR(static_cast<double>(times.Begin(0.1)), 0.9 * kRows, 0.002 * kRows);
}

// ---- subsets

TEST(RowSubset, HasTheRowsOfItsBitsInItsRange) {
  const auto table = std::make_shared<Numbered>(1500);
  RowBits bits(24);
  for (int64_t n = 0; n < 1500; ++n)
    if (n % 3 == 0 || (n > 600 && n < 700))
      bits[static_cast<size_t>(n / 64)] |= uint64_t{1} << (n % 64);
  for (const bool wanted : {true, false})
    for (const RowRange range :
         {RowRange{}, RowRange{0, 1}, RowRange{63, 65}, RowRange{64, 1500}, RowRange{601, 699},
          RowRange{777, 1001}, RowRange{1500, RowRange::kEnd}}) {
      const RowSubset subset(table, bits, wanted, range);
      std::vector<int64_t> expected;
      for (int64_t n = range.first; n < std::min<int64_t>(range.last, 1500); ++n)
        if ((n % 3 == 0 || (n > 600 && n < 700)) == wanted) expected.push_back(n);
      ASSERT_EQ(subset.rows(), std::ssize(expected));
      EXPECT_EQ(NumbersOf(subset), expected);
    }
  EXPECT_EQ(ErrorOf([&] {
              RowSubset(table, bits, true, {0, 1501});
            }),
            "rows 0:1501 were asked for, but the data has 1,500 rows");
}

TEST(SplitTable, GivesEachRowToOnePart) {
  const auto table = std::make_shared<Numbered>(10'000);
  for (const SplitOptions& split :
       {SplitOptions{.fraction = 0.3},
        SplitOptions{.by = SplitBy::kKey, .fraction = 0.3, .feature = "user"},
        SplitOptions{.by = SplitBy::kTime, .at = 5}})
    for (const int threads : {1, 3}) {
      SplitCounts counts;
      const PartTables parts =
          SplitTable({table, table, 50, threads}, split, {0, 9000}, {}, counts);
      const RowFilter eval(split, RowPart::kEval);
      std::vector<int64_t> for_train, for_eval;
      for (int64_t n = 0; n < 10'000; ++n) {
        const bool is_eval = split.by == SplitBy::kRandom ? eval.TakesNumber(n)
                             : split.by == SplitBy::kTime
                                 ? eval.TakesTime(n % 7)
                                 : eval.TakesFirstId(n % 10 == 0 ? kNoId : n % 50);
        if (is_eval) for_eval.push_back(n);
        if (!is_eval && n < 9000) for_train.push_back(n);
      }
      EXPECT_EQ(NumbersOf(*parts.train), for_train) << ToString(split);
      EXPECT_EQ(NumbersOf(*parts.eval), for_eval) << ToString(split);
      EXPECT_EQ(counts.Of(RowPart::kTrain)->rows, std::ssize(for_train));
      EXPECT_EQ(counts.Of(RowPart::kEval)->rows, std::ssize(for_eval));
      EXPECT_EQ(counts.Of(RowPart::kTrain)->ids.has_value(), split.by == SplitBy::kKey);
      if (split.by == SplitBy::kKey) {  // 45 of the 50 users have rows that name them
        EXPECT_EQ(*counts.Of(RowPart::kTrain)->ids + *counts.Of(RowPart::kEval)->ids, 45);
      }
    }
}

}  // namespace
}  // namespace tessera
