#include "metrics/click_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "metrics/formulas/auc.h"

namespace tessera {
namespace {

struct Columns {
  std::vector<float> p, y, w;
  ScoredExamples view() const { return {p, y, w}; }
  void Append(const Columns& other) {
    p.insert(p.end(), other.p.begin(), other.p.end());
    y.insert(y.end(), other.y.begin(), other.y.end());
    w.insert(w.end(), other.w.begin(), other.w.end());
  }
  Columns Last(size_t n) const {
    const size_t from = p.size() - std::min(n, p.size());
    const auto cut = [&](const std::vector<float>& c) {
      return std::vector<float>(c.begin() + static_cast<long>(from), c.end());
    };
    return {cut(p), cut(y), cut(w)};
  }
};

Columns Random(std::mt19937& random, size_t n) {
  Columns c;
  for (size_t i = 0; i < n; ++i) {
    c.p.push_back(static_cast<float>(random() % 1000) / 999);
    c.y.push_back(static_cast<float>(i < 2 ? i : random() % 2));  // both classes
    c.w.push_back(static_cast<float>(1 + random() % 3));
  }
  return c;
}

// The metrics straight from their formulas.
MetricValues Reference(const Columns& c) {
  double w = 0, wy = 0, wp = 0, ce = 0;
  for (size_t i = 0; i < c.p.size(); ++i) {
    const double p = double{c.p[i]}, q = std::min(std::max(p, 1e-7), 1 - 1e-7), y = double{c.y[i]},
                 v = double{c.w[i]};
    w += v;
    wy += v * y;
    wp += v * p;
    ce += v * (y > 0.5 ? -std::log(q) : -std::log(1 - q));
  }
  const double m = wy / w;
  return {static_cast<int64_t>(c.p.size()), Auc(c.view()), ce / w,
          ce / w / (-m * std::log(m) - (1 - m) * std::log(1 - m)), wp / wy};
}

void ExpectValues(const MetricValues& got, const MetricValues& want) {
  EXPECT_EQ(got.examples, want.examples);
  EXPECT_EQ(got.auc, want.auc);
  EXPECT_NEAR(got.log_loss, want.log_loss, 1e-12);
  EXPECT_NEAR(got.normalized_entropy, want.normalized_entropy, 1e-12);
  EXPECT_NEAR(got.calibration, want.calibration, 1e-12);
}

class MetricStreams : public testing::TestWithParam<int> {};

TEST_P(MetricStreams, LifetimeAndWindowFollowTheirRules) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const int64_t window = 20 + random() % 100;
  ClickMetrics metrics({.window = window}),
      without_lifetime({.window = window, .lifetime_auc = false});
  Columns all;
  std::vector<Columns> kept;
  for (int step = 0; step < 30; ++step) {
    const Columns batch = Random(random, 3 + random() % 60 + (step == 17 ? 200 : 0));
    metrics.Update(batch.view());
    without_lifetime.Update(batch.view());
    all.Append(batch);
    kept.push_back(batch);
    const auto total = [&] {
      size_t n = 0;
      for (const Columns& c : kept) n += c.p.size();
      return static_cast<int64_t>(n);
    };
    while (total() > window && kept.size() > 1) kept.erase(kept.begin());
    Columns joined;
    for (const Columns& c : kept) joined.Append(c);
    MetricValues want = Reference(joined);
    want.auc = Auc(all.Last(static_cast<size_t>(window)).view());
    ExpectValues(metrics.Window(), want);
    ExpectValues(without_lifetime.Window(), want);
    ExpectValues(metrics.Lifetime(), Reference(all));
    EXPECT_TRUE(std::isnan(without_lifetime.Lifetime().auc));
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, MetricStreams, testing::Range(0, 8));

TEST(ClickMetrics, NoExamples) {
  const MetricValues values = ClickMetrics().Lifetime();
  EXPECT_EQ(values.examples, 0);
  for (const double value :
       {values.auc, values.log_loss, values.normalized_entropy, values.calibration})
    EXPECT_TRUE(std::isnan(value));
}

TEST(ClickMetrics, OneClassOnly) {
  const std::vector<float> p = {0.25f, 0.5f}, zeros = {0, 0}, ones = {1, 1};
  ClickMetrics none, all;
  none.Update({p, zeros, {}});
  all.Update({p, ones, {}});
  EXPECT_TRUE(std::isnan(none.Window().auc));
  EXPECT_TRUE(std::isnan(none.Window().normalized_entropy));
  EXPECT_TRUE(std::isnan(none.Window().calibration));
  EXPECT_NEAR(none.Window().log_loss, -(std::log(0.75) + std::log(0.5)) / 2, 1e-12);
  EXPECT_TRUE(std::isnan(all.Window().normalized_entropy));
  EXPECT_EQ(all.Window().calibration, 0.375);
}

TEST(ClickMetrics, CertainAndWrongCostsWhatTheClipSays) {
  const std::vector<float> p = {1.0f, 0.0f}, y = {0, 1};
  ClickMetrics metrics;
  metrics.Update({p, y, {}});
  EXPECT_NEAR(metrics.Lifetime().log_loss, -std::log(1e-7), 1e-6);
}

TEST(ClickMetrics, NaNPredictionsAreSeen) {
  const std::vector<float> p = {std::numeric_limits<float>::quiet_NaN(), 0.5f}, y = {0, 1};
  ClickMetrics metrics;
  metrics.Update({p, y, {}});
  EXPECT_TRUE(std::isnan(metrics.Lifetime().log_loss));
  EXPECT_TRUE(std::isnan(metrics.Lifetime().auc));
}

TEST(ClickMetrics, EmptyWindowIsAnError) {
  EXPECT_THROW(ClickMetrics({.window = 0}), std::exception);
}

}  // namespace
}  // namespace tessera
