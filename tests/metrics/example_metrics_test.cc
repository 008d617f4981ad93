// AUC, AUPRC and RAUC over streams: exactly the last examples, groups, pairs.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "metrics/formulas/auprc.h"
#include "metrics/formulas/binned_scores.h"
#include "metrics/formulas/example_metric.h"
#include "metrics/formulas/rauc.h"
#include "metrics/state/pair_weights.h"
#include "tests/metrics/testing/metric_stream.h"

namespace tessera {
namespace {

using testing::MetricColumns;
using testing::RandomColumns;

struct Example {
  double p, y, w;
  int64_t group;
};
using Examples = std::vector<Example>;

double Auc(const Examples& e) {
  double area = 0, pairs = 0;
  for (const Example& a : e)
    for (const Example& b : e) {
      const double w = a.w * a.y * b.w * (1 - b.y);
      pairs += w;
      area += w * (a.p > b.p ? 1 : a.p == b.p ? 0.5 : 0);
    }
  return pairs == 0 ? 0.5 : area / pairs;
}

// Precision and recall at every threshold there is.
double Auprc(const Examples& e) {
  std::set<double, std::greater<>> thresholds;
  double positives = 0, area = 0, recall_before = 0;
  for (const Example& x : e) {
    thresholds.insert(x.p);
    positives += x.w * x.y;
  }
  if (positives == 0) return 0;
  for (const double t : thresholds) {
    double tp = 0, all = 0;
    for (const Example& x : e)
      if (x.p >= t) {
        tp += x.w * x.y;
        all += x.w;
      }
    if (all > 0) area += tp / all * (tp / positives - recall_before);
    recall_before = tp / positives;
  }
  return area;
}

double Rauc(const Examples& e) {
  double wrong = 0, pairs = 0;
  for (size_t i = 0; i < e.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      ++pairs;
      wrong += (e[i].p - e[j].p) * (e[i].y - e[j].y) < 0;
    }
  return pairs == 0 ? 0.5 : 1 - wrong / pairs;
}

double MeanOverGroups(const Examples& e, double (*value)(const Examples&)) {
  double sum = 0, count = 0;
  for (int64_t g = 0; g < testing::kGroups; ++g) {
    Examples some;
    for (const Example& x : e)
      if (x.group == g) some.push_back(x);
    if (some.empty()) continue;
    sum += value(some);
    ++count;
  }
  return sum / count;
}

void Append(const MetricColumns& c, Examples& all) {
  for (size_t i = 0; i < c.size(); ++i) all.push_back({c.p[i], c.y[i], c.w[i], c.groups[i]});
}

class OfExamples : public ::testing::TestWithParam<std::string> {};

TEST_P(OfExamples, WindowIsExactlyTheLastExamples) {
  const std::string name = GetParam();
  double (*value)(const Examples&) = name == "auc" ? Auc : name == "auprc" ? Auprc : Rauc;
  const auto metric = FindMetricKind(name).make({.grouped = true}, 50, {});
  std::mt19937 random(5);
  Examples all;
  for (int step = 0; step < 20; ++step) {
    const MetricColumns batch = RandomColumns(random, step == 9 ? 120 : 1 + random() % 30);
    metric->Update({.examples = batch.view(), .grouping_keys = batch.groups});
    Append(batch, all);
    const Examples last(all.end() - std::min<std::ptrdiff_t>(50, std::ssize(all)), all.end());
    for (const MetricValue& got : metric->Values()) {
      const double want = got.name.starts_with("lifetime_")         ? value(all)
                          : got.name.starts_with("window_grouped_") ? MeanOverGroups(last, value)
                                                                    : value(last);
      EXPECT_NEAR(got.value, want, 1e-10) << got.name << " after step " << step;
    }
    EXPECT_EQ(metric->Values().size(), name == "auprc" ? 3u : 2u);
  }
}
INSTANTIATE_TEST_SUITE_P(Metrics, OfExamples, ::testing::Values("auc", "auprc", "rauc"),
                         [](const auto& info) { return info.param; });

TEST(OfExamples, NaNPredictionsAreSeen) {
  const std::vector<float> p = {std::numeric_limits<float>::quiet_NaN(), 0.5f}, y = {0, 1};
  EXPECT_TRUE(std::isnan(Auprc(ScoredExamples{p, y, {}})));
  for (const char* name : {"auc", "rauc", "xauc"})
    for (const bool grouped : {false, true}) {
      if (grouped && std::string(name) == "xauc") continue;
      const auto metric = FindMetricKind(name).make({.grouped = grouped}, 50, {});
      const std::vector<int64_t> groups = {3, 3};
      metric->Update({.examples = {p, y, {}}, .grouping_keys = groups});
      for (const MetricValue& value : metric->Values())
        EXPECT_TRUE(std::isnan(value.value)) << name << ": " << value.name;
    }
}

TEST(BinnedScores, PredictionsOfOneBinAreEqualAndNoneIsLost) {
  const std::vector<float> p = {-1, 0, 1, 7, 0.5f, 0.50001f}, y = {1, 0, 1, 1, 0, 1};
  BinnedScores scores, twice;
  scores.Add(ScoredExamples{p, y, {}});
  twice.Add(scores.sums());
  twice.Add(ScoredExamples{p, y, {}});
  const auto bin = [&](size_t i) {
    return std::pair(twice.sums()[2 * i], twice.sums()[2 * i + 1]);
  };
  EXPECT_EQ(bin(0), std::pair(2.0, 2.0));
  EXPECT_EQ(bin(32768), std::pair(2.0, 2.0));
  EXPECT_EQ(bin(65535), std::pair(4.0, 0.0));
  EXPECT_DOUBLE_EQ(BinnedAuprc(scores), 0.5 + 0.25 * 3 / 4 + 0.25 * 4 / 6);
}

TEST(BinnedScores, NaNPredictionsAreSeen) {
  const std::vector<float> p = {std::numeric_limits<float>::quiet_NaN(), 0.5f}, y = {0, 1};
  BinnedScores scores;
  scores.Add(ScoredExamples{p, y, {}});
  EXPECT_TRUE(std::isnan(BinnedAuprc(scores)));
}

TEST(OfExamples, GroupsMustBeGiven) {
  const std::vector<float> p = {0.5f};
  const auto auc = FindMetricKind("auc").make({.grouped = true}, 50, {});
  EXPECT_THROW(auc->Update({.examples = {p, p, {}}}), Error);
}

TEST(PairWeights, AreThoseOfAllPairs) {
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    MetricColumns c = RandomColumns(random, random() % 60);
    if (round % 2 == 0)
      for (float& y : c.y) y = static_cast<float>(random() % 7);
    PairWeights want;
    for (size_t i = 0; i < c.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        const double w = double{c.w[i]} * double{c.w[j]};
        const float product = (c.p[i] - c.p[j]) * (c.y[i] - c.y[j]);
        want.total += w;
        if (product > 0) want.concordant += w;
        if (product < 0) want.discordant += w;
        if (c.p[i] == c.p[j] && c.y[i] == c.y[j]) want.tied += w;
      }
    const PairWeights got = ComputePairWeights(c.view());
    EXPECT_EQ(got.concordant, want.concordant);
    EXPECT_EQ(got.discordant, want.discordant);
    EXPECT_EQ(got.tied, want.tied);
    EXPECT_EQ(got.total, want.total);
  }
}

TEST(PairWeights, OfWhatHasNoOrderAreNaN) {
  const std::vector<float> nan = {0, std::numeric_limits<float>::quiet_NaN()}, two = {0, 1};
  for (const PairWeights& pairs :
       {ComputePairWeights({nan, two, {}}), ComputePairWeights({two, nan, {}})}) {
    EXPECT_TRUE(std::isnan(pairs.concordant) && std::isnan(pairs.discordant));
    EXPECT_TRUE(std::isnan(pairs.tied) && std::isnan(pairs.total));
  }
}

}  // namespace
}  // namespace tessera
