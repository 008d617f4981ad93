#include "metrics/throughput.h"

#include <gtest/gtest.h>

#include <map>

#include "metrics/metric_registry.h"

namespace tessera {
namespace {

// The clock of these tests shows the time that it is given.
class Throughputs : public ::testing::Test {
 protected:
  Clock clock() {
    return [this] { return now_; };
  }
  static void Feed(RecMetric& metric, int64_t examples) {
    const std::vector<float> column(static_cast<size_t>(examples));
    metric.Update({.examples = {column, column, {}}});
  }
  static std::map<std::string, double> ValuesOf(const RecMetric& metric,
                                                std::vector<MetricState> ranks = {}) {
    if (ranks.empty()) ranks.push_back(metric.Summary());
    std::map<std::string, double> values;
    for (const MetricValue& v : metric.Values(ranks)) values[v.name] = v.value;
    return values;
  }

  double now_ = 100;
};

using Values = std::map<std::string, double>;

TEST_F(Throughputs, BeginAfterTheWarmUp) {
  Throughput metric({.window_seconds = 10, .warmup_steps = 2}, clock());
  Feed(metric, 7);
  Feed(metric, 7);
  EXPECT_EQ(ValuesOf(metric), (Values{{"total_examples", 14}}));
  now_ += 4;
  Feed(metric, 8);
  now_ += 4;
  Feed(metric, 16);
  EXPECT_EQ(ValuesOf(metric),
            (Values{{"total_examples", 38}, {"lifetime_throughput", 3}, {"window_throughput", 3}}));
  now_ += 4;  // 12 s: the first step leaves
  Feed(metric, 32);
  EXPECT_EQ(ValuesOf(metric)["lifetime_throughput"], 56.0 / 12);
  EXPECT_EQ(ValuesOf(metric)["window_throughput"], 48.0 / 8);
}

TEST_F(Throughputs, OfRanksAreAddedAndTheSlowestCounts) {
  Throughput a({.warmup_steps = 1}, clock()), b({.warmup_steps = 1}, clock());
  Feed(a, 5);
  Feed(b, 5);
  now_ += 2;
  Feed(a, 10);
  now_ += 3;
  Feed(b, 20);
  const Values values = ValuesOf(a, {a.Summary(), b.Summary()});
  EXPECT_EQ(values.at("lifetime_throughput"), 30.0 / 5);
  EXPECT_EQ(values.at("total_examples"), 40);
}

TEST_F(Throughputs, GoOnFromACheckpoint) {
  Throughput a({.warmup_steps = 1}, clock()), b({.warmup_steps = 1}, clock());
  Feed(a, 5);
  now_ += 2;
  Feed(a, 10);
  const MetricState state = a.State();
  b.Load({&state, 1});
  now_ += 1000;
  Feed(b, 5);  // warms up again
  now_ += 2;
  Feed(b, 20);
  EXPECT_EQ(ValuesOf(b)["lifetime_throughput"], 30.0 / 4);
  EXPECT_EQ(ValuesOf(b)["window_throughput"], 20.0 / 2);
  EXPECT_EQ(ValuesOf(b)["total_examples"], 40);
}

TEST_F(Throughputs, OfATower) {
  const auto make = [&] {
    return FindMetricKind("tower_qps").make({.warmup_steps = 1}, 20, clock());
  };
  const auto a = make(), b = make();
  Feed(*a, 5);
  Feed(*b, 5);
  EXPECT_EQ(ValuesOf(*a),
            (Values{{"lifetime_tower_qps", 0}, {"window_tower_qps", 0}, {"total_examples", 5}}));
  now_ += 2;
  Feed(*a, 12);
  now_ += 2;
  Feed(*a, 16);
  EXPECT_EQ(ValuesOf(*a)["lifetime_tower_qps"], 28.0 / 4);
  EXPECT_EQ(ValuesOf(*a)["window_tower_qps"], 16.0 / 2);
  now_ += 1;
  Feed(*b, 2);
  const Values both = ValuesOf(*a, {a->Summary(), b->Summary()});
  EXPECT_EQ(both.at("lifetime_tower_qps"), 30.0 / 5);
  EXPECT_EQ(both.at("total_examples"), 40);
}

TEST_F(Throughputs, OptionsThatMakeNoSenseAreErrors) {
  EXPECT_THROW(Throughput({.window_seconds = 0}, clock()), Error);
  EXPECT_THROW(Throughput({.warmup_steps = 0}, clock()), Error);
}

}  // namespace
}  // namespace tessera
