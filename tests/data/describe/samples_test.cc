// Samples of bounded size: distinct texts, and numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "data/describe/distinct_sample.h"
#include "data/describe/number_sample.h"

namespace tessera {
namespace {

TEST(DistinctSample, CountsAFewExactlyAndManyNearly) {
  DistinctSample few;
  for (int i = 0; i < 300; ++i) few.Add(std::to_string(i % 100 == 8 ? 7 : i % 50));
  EXPECT_TRUE(few.exact());
  EXPECT_EQ(few.count(), 50);
  EXPECT_EQ(few.Entries()[0].text, "7");
  EXPECT_EQ(few.Entries()[0].count, 6 + 3);
  for (const int64_t distinct : {int64_t{8192}, int64_t{8193}, int64_t{100'000}}) {
    DistinctSample many;
    for (int64_t i = 0; i < 3 * distinct; ++i) many.Add(std::to_string(i % distinct));
    EXPECT_EQ(many.exact(), distinct == 8192);
    EXPECT_NEAR(static_cast<double>(many.count()), static_cast<double>(distinct),
                0.06 * static_cast<double>(distinct));
    EXPECT_FALSE(many.all_once());
    EXPECT_LE(many.Entries().size(), DistinctSample::kMaxKept);
    for (const DistinctSample::Entry& entry : many.Entries()) ASSERT_EQ(entry.count, 3);
  }
}

TEST(DistinctSample, NeverCountsMoreTextsThanCame) {
  bool reached = false;
  for (int64_t begin = 0; begin < 10; ++begin) {
    DistinctSample sample;
    for (int64_t i = 0; i < 30'000; ++i) sample.Add(std::to_string(30'000 * begin + i));
    EXPECT_LE(sample.count(), 30'000);
    EXPECT_TRUE(sample.all_once());
    reached = reached || sample.count() == 30'000;
  }
  EXPECT_TRUE(reached);  // the estimate is above as often as below
}

TEST(DistinctSample, CutsWhatItShowsButNotWhatItCompares) {
  DistinctSample sample;
  const std::string begin(100, 'x');
  sample.Add(begin + "a");
  sample.Add(begin + "b");
  EXPECT_EQ(sample.count(), 2);
  EXPECT_EQ(sample.Entries()[0].text, begin.substr(0, DistinctSample::kTextBytes));
}

TEST(NumberSample, KeepsAnEvenSample) {
  NumberSample sample;
  for (int i = 0; i < 100'000; ++i) sample.Add(i);
  EXPECT_EQ(sample.count(), 100'000);
  EXPECT_EQ(sample.least(), 0);
  EXPECT_EQ(sample.greatest(), 99'999);
  EXPECT_DOUBLE_EQ(sample.mean(), 49'999.5);
  EXPECT_LT(std::ssize(sample.kept()), NumberSample::kMaxKept);
  for (const int64_t count : sample.Histogram(10))
    EXPECT_NEAR(static_cast<double>(count), static_cast<double>(sample.kept().size()) / 10,
                0.25 * static_cast<double>(sample.kept().size()) / 10);
  NumberSample same;
  same.Add(3);
  same.Add(3);
  EXPECT_EQ(same.Histogram(4), (std::vector<int64_t>{2, 0, 0, 0}));
}

TEST(NumberSample, NoPatternOfTheSeriesDecidesWhatIsKept) {
  for (const int period : {2, 3, 4, 8, 64, 1024}) {
    NumberSample sample;
    for (int i = 0; i < 100'000; ++i) sample.Add(i % period < period / 2 ? 0 : 1);
    const std::vector<int64_t> halves = sample.Histogram(2);
    const auto kept = static_cast<double>(sample.kept().size());
    EXPECT_NEAR(static_cast<double>(halves[1]) / kept, sample.mean(), 0.05) << period;
  }
}

TEST(NumberSample, TheTypicalDeviationIsNotThatOfAFewFarNumbers) {
  NumberSample sample;
  for (int i = 0; i < 2000; ++i) sample.Add(i % 2 == 0 ? 9 : 11);
  sample.Add(1e5);
  const auto [mean, deviation] = sample.Typical();
  EXPECT_NEAR(mean, 10, 0.01);
  EXPECT_NEAR(deviation, 1, 0.01);
  NumberSample rare;
  for (int i = 0; i < 1000; ++i) rare.Add(i == 500 ? 100 : 0);
  EXPECT_NEAR(rare.Typical().deviation, 100 / std::sqrt(1000), 0.01) << "all others are the same";
  EXPECT_EQ(NumberSample().Typical().deviation, 0);
}

}  // namespace
}  // namespace tessera
