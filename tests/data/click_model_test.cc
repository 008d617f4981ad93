#include "data/synthetic/click_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "data/files/criteo_line.h"
#include "data/files/criteo_stream.h"
#include "data/synthetic/planted_rows.h"
#include "metrics/formulas/auc.h"
#include "metrics/state/click_sums.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

TEST(AliasTable, DrawsEachOutcomeWithItsProbability) {
  const std::vector<double> weights = {5, 0, 1, 3, 0.5, 0.5};
  const AliasTable table(weights);
  std::vector<int> counts(weights.size());
  constexpr int kDraws = 1'000'000;  // evenly spaced: no luck needed
  for (int i = 0; i < kDraws; ++i) ++counts[static_cast<size_t>(table.Draw((i + 0.5) / kDraws))];
  for (size_t i = 0; i < weights.size(); ++i)
    EXPECT_NEAR(counts[i] / double{kDraws}, weights[i] / 10, 1e-4) << i;
}

TEST(ClickModel, RowsDependOnSeedAndNumberAlone) {
  const ClickModel a({.seed = 4, .vocabulary = 50}), b({.seed = 4, .vocabulary = 50}),
      c({.seed = 5, .vocabulary = 50});
  int different = 0;
  for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{999}, int64_t{1} << 40}) {
    EXPECT_EQ(a.Row(n), b.Row(n));
    EXPECT_EQ(a.Row(n), a.Row(n));
    EXPECT_FALSE(a.Row(n) == a.Row(n + 1));
    different += !(a.Row(n) == c.Row(n));
  }
  EXPECT_EQ(different, 4);
}

TEST(ClickModel, HasTheStatisticsAskedFor) {
  const ClickModelOptions options{.seed = 2,
                                  .vocabulary = 300,
                                  .zipf = 1.2,
                                  .click_rate = 0.3,
                                  .missing_rate = 0.1,
                                  .strength = 2};
  const ClickModel model(options);
  constexpr int kRows = 40000;
  double clicks = 0, missing = 0, sum = 0, squares = 0;
  std::map<uint64_t, int> counts;
  for (int64_t n = 0; n < kRows; ++n) {
    const ClickRow row = model.Row(n);
    clicks += double{row.label};
    missing += ClickRow::kCategories - __builtin_popcount(row.categories_present);
    missing += ClickRow::kIntegers - __builtin_popcount(row.integers_present);
    if (row.has_category(0)) ++counts[row.categories[0]];
    const double p = model.Probability(row), logit = std::log(p / (1 - p));
    sum += logit;
    squares += logit * logit;
  }
  EXPECT_NEAR(clicks / kRows, 0.3, 0.01);
  EXPECT_NEAR(missing / kRows / 39, 0.1, 0.003);
  EXPECT_NEAR(std::sqrt(squares / kRows - sum / kRows * sum / kRows), 2, 0.05);
  EXPECT_EQ(model.vocabulary(0), 300);
  EXPECT_LT(counts.rbegin()->first, 300u);
  EXPECT_NEAR(static_cast<double>(counts[0]) / counts[9], std::pow(10, 1.2), 2);
}

// Truth is calibrated, and no other prediction from the same rows does better.
TEST(ClickModel, TrueProbabilitiesAreTheOptimum) {
  const ClickModel model({.seed = 9, .vocabulary = 100});
  std::vector<float> truth, blurred, labels;
  double entropy = 0;
  for (int64_t n = 0; n < 50000; ++n) {
    const ClickRow row = model.Row(n);
    const double p = model.Probability(row);
    truth.push_back(static_cast<float>(p));
    blurred.push_back(
        static_cast<float>(1 / (1 + (1 - p) / p * std::exp(n % 2 == 0 ? 0.5 : -0.5))));
    labels.push_back(row.label);
    entropy -= p * std::log(p) + (1 - p) * std::log(1 - p);
  }
  const ClickSums sums = ClickSums::Of({truth, labels, {}});
  EXPECT_NEAR(sums.Calibration(), 1, 0.02);
  EXPECT_NEAR(sums.LogLoss(), entropy / 50000, 0.005);
  EXPECT_LT(sums.LogLoss(), ClickSums::Of({blurred, labels, {}}).LogLoss());
  const double auc = Auc({truth, labels, {}});
  EXPECT_GT(auc, Auc({blurred, labels, {}}));
  EXPECT_GT(auc, 0.75);
  EXPECT_LT(auc, 0.95);
}

TEST(ClickModel, NoStrengthMeansNoSignal) {
  const ClickModel model({.vocabulary = 10, .click_rate = 0.2, .strength = 0});
  for (int64_t n = 0; n < 10; ++n) EXPECT_NEAR(model.Probability(model.Row(n)), 0.2, 1e-9);
}

TEST(ClickModel, SurvivesItsWayThroughAFile) {
  const auto model = std::make_shared<const ClickModel>(ClickModelOptions{.vocabulary = 40});
  std::string text;
  for (int64_t n = 100; n < 200; ++n) AppendCriteoLine(model->Row(n), text);
  CriteoStream file({.paths = {testing::WriteFile("planted.tsv", text)}});
  ClickRow read;
  for (int64_t n = 100; n < 200; ++n) {
    const ClickRow row = model->Row(n);
    ASSERT_TRUE(file.Next(read));
    EXPECT_EQ(row, read);
    EXPECT_EQ(model->Probability(row), model->Probability(read));
  }
  EXPECT_FALSE(file.Next(read));
}

TEST(PlantedRows, AreTheModelsRowsInAnyOrder) {
  Context ctx({.threads = 1});
  const auto model = std::make_shared<const ClickModel>(ClickModelOptions{.vocabulary = 40});
  const BatchBuilder builder({{"cat_0", 41}}, MissingIds::kRow0);
  const PlantedRows rows(model, builder, 100);
  EXPECT_EQ(rows.rows(), 100);
  const Batch batch = rows.Gather(ctx, std::vector<int64_t>{7, 3});
  const Batch expected = builder.Build(ctx, std::vector<ClickRow>{model->Row(7), model->Row(3)});
  EXPECT_EQ(batch.dense.ToVector<float>(), expected.dense.ToVector<float>());
  EXPECT_EQ(batch.labels.ToVector<float>(), expected.labels.ToVector<float>());
  EXPECT_EQ(batch.features.values().ToVector<int32_t>(),
            expected.features.values().ToVector<int32_t>());
}

TEST(ClickModel, OptionsAreChecked) {
  for (const ClickModelOptions& bad :
       {ClickModelOptions{.vocabulary = 1}, ClickModelOptions{.zipf = -1},
        ClickModelOptions{.click_rate = 0}, ClickModelOptions{.click_rate = 1},
        ClickModelOptions{.missing_rate = 1}, ClickModelOptions{.strength = -1}})
    EXPECT_THROW(ClickModel{bad}, std::exception);
}

TEST(ClickModel, RefusesRowsOfAnother) {
  const ClickModel small({.vocabulary = 5});
  ClickRow row;
  row.categories_present = 1;
  row.categories[0] = 5;
  EXPECT_THROW(small.Probability(row), std::exception);
}

}  // namespace
}  // namespace tessera
