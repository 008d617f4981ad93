// Every metric beside its formula as an obvious loop over examples, in double.
#include "train/metrics/formulas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "tests/train/metrics/testing/metric_stream.h"
#include "train/metrics/metric_registry.h"

namespace tessera {
namespace {

using testing::kClasses;
using testing::kGroups;
using testing::MetricColumns;
using testing::OptionsFor;
using testing::RandomColumns;

using Batches = std::vector<MetricColumns>;
using Named = std::map<std::string, double>;

// Σ fn(p, y, w) over all examples.
double Sum(const Batches& batches, const std::function<double(double, double, double)>& fn) {
  double sum = 0;
  for (const MetricColumns& b : batches)
    for (size_t i = 0; i < b.size(); ++i) sum += fn(b.p[i], b.y[i], b.w[i]);
  return sum;
}

double Weight(const Batches& b) {
  return Sum(b, [](double, double, double w) { return w; });
}
double Positives(const Batches& b) {
  return Sum(b, [](double, double y, double w) { return w * y; });
}

double Entropy(double positives, double weight) {
  const double m = std::clamp(positives / weight, 1e-12, 1 - 1e-12);
  return -positives * std::log2(m) - (weight - positives) * std::log2(1 - m);
}
double CrossEntropy(const Batches& b, double c = 1) {
  return Sum(b, [&](double p, double y, double w) {
    const double q = p / (p + (1 - p) / c);
    return -w * std::log2(y == 1 ? q : 1 - q);
  });
}
double Ne(const Batches& b, double c = 1) {
  return CrossEntropy(b, c) / Entropy(Positives(b), Weight(b));
}

Batches Unweighted(Batches batches) {
  for (MetricColumns& b : batches) std::fill(b.w.begin(), b.w.end(), 1.0f);
  return batches;
}

Batches OfGroup(const Batches& batches, int64_t group) {
  Batches some(1);
  for (const MetricColumns& b : batches)
    for (size_t i = 0; i < b.size(); ++i) {
      if (b.groups[i] != group) continue;
      some[0].p.push_back(b.p[i]);
      some[0].y.push_back(b.y[i]);
      some[0].w.push_back(b.w[i]);
    }
  return some;
}

Named SegmentedNe(const Batches& b) {
  Named values;
  for (int64_t g = 0; g < kGroups; ++g) {
    const Batches some = OfGroup(b, g);
    values["segmented_ne_" + std::to_string(g)] = Ne(some);
    values["logloss_" + std::to_string(g)] = CrossEntropy(some) / Weight(some);
  }
  return values;
}

double TotalExamples(const Batches& b) {
  return Sum(b, [](double, double, double w) { return w != 0 ? 1.0 : 0.0; });
}

double Calibration(const Batches& b, double c = 1) {
  return Sum(b, [&](double p, double, double w) { return w * p / (p + (1 - p) / c); }) /
         Positives(b);
}

double TensorMean(const Batches& batches) {
  double sum = 0;
  for (const MetricColumns& b : batches)
    for (size_t i = 0; i < b.size(); ++i) sum += double{b.w[i]} * double{b.x[i]};
  return sum / Weight(batches);
}

double SquaredError(const Batches& b) {
  return Sum(b, [](double p, double y, double w) { return w * (y - p) * (y - p); });
}
Named Mse(const Batches& b) {
  const double mse = SquaredError(b) / Weight(b), positives = Positives(b);
  return {{"mse", mse},
          {"rmse", std::sqrt(mse)},
          {"r_squared", 1 - SquaredError(b) / (positives - positives * positives / Weight(b))}};
}

double ShareAbove(const Batches& b, double threshold, bool precision) {
  const double tp =
      Sum(b, [&](double p, double y, double w) { return p >= threshold ? w * y : 0; });
  const double other = Sum(b, [&](double p, double y, double w) {
    if (precision) return p >= threshold ? w * (1 - y) : 0;
    return p <= threshold ? w * y : 0;
  });
  return tp + other == 0 ? 0 : tp / (tp + other);
}

Named Hindsight(const Batches& b) {
  const auto threshold = [](int i) { return static_cast<double>(static_cast<float>(i / 999.0)); };
  int i = 0;
  while (i < 999 && ShareAbove(b, threshold(i), true) < 0.5) ++i;
  return {{"hindsight_target_pr", i},
          {"hindsight_target_precision", ShareAbove(b, threshold(i), true)},
          {"hindsight_target_recall", ShareAbove(b, threshold(i), false)}};
}

Named Multiclass(const Batches& batches) {
  std::vector<double> found(kClasses);
  for (const MetricColumns& b : batches)
    for (size_t i = 0; i < b.size(); ++i) {
      std::vector<size_t> order(kClasses);
      for (size_t c = 0; c < order.size(); ++c) order[c] = c;
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t c) {
        return b.scores[i * kClasses + a] > b.scores[i * kClasses + c];
      });
      for (size_t k = 0; k < found.size(); ++k)
        for (size_t r = 0; r <= k; ++r)
          if (static_cast<float>(order[r]) == b.classes[i]) found[k] += double{b.w[i]};
    }
  Named values;
  for (size_t k = 0; k < found.size(); ++k)
    values["multiclass_recall_" + std::to_string(k)] = found[k] / Weight(batches);
  return values;
}

// How many examples of its session have a higher value.
int Rank(const MetricColumns& b, const std::vector<float>& values, size_t i) {
  int rank = 0;
  for (size_t j = 0; j < b.size(); ++j)
    rank += b.sessions[j] == b.sessions[i] && values[j] > values[i];
  return rank;
}

double SessionLevel(const Batches& batches, bool precision) {
  double tp = 0, other = 0;
  for (const MetricColumns& b : batches)
    for (size_t i = 0; i < b.size(); ++i) {
      const bool first = Rank(b, b.p, i) < 2;
      const double w = double{b.w[i]}, y = double{b.y[i]};
      if (first) tp += w * y;
      other += precision ? (first ? w * (1 - y) : 0) : (first ? 0 : w * y);
    }
  return tp / (tp + other);
}

double Ndcg(const Batches& batches) {
  double sum = 0, count = 0;
  for (const MetricColumns& b : batches)
    for (int64_t session = -2; session <= 2; ++session) {
      std::vector<size_t> by_p;
      double weight = 0, positives = 0, dcg = 0, ideal = 0;
      for (size_t i = 0; i < b.size(); ++i)
        if (b.sessions[i] == session) by_p.push_back(i);
      if (by_p.empty()) continue;
      std::stable_sort(by_p.begin(), by_p.end(),
                       [&](size_t i, size_t j) { return b.p[i] > b.p[j]; });
      for (size_t r = 0; r < by_p.size(); ++r) {
        weight = std::max(weight, double{b.w[by_p[r]]});
        positives += double{b.y[by_p[r]]};
        dcg += double{b.y[by_p[r]]} / std::log2(r + 2.0);
      }
      for (size_t r = 0; r < static_cast<size_t>(positives); ++r) ideal += 1 / std::log2(r + 2.0);
      sum += weight * (1 - dcg / std::max(ideal, 1e-6));
      ++count;
    }
  return sum / count;
}

Named Gauc(const Batches& batches) {
  double sum = 0, count = 0;
  for (const MetricColumns& b : batches) {
    size_t begin = 0;
    for (const int64_t length : b.candidates) {
      double ordered = 0, pairs = 0;
      bool all_equal = true;
      const size_t end = begin + static_cast<size_t>(length);
      for (size_t i = begin; i < end; ++i)
        for (size_t j = begin; j < end; ++j) {
          if (b.p[i] != b.p[j]) all_equal = false;
          if (!(b.y[i] == 1 && b.y[j] == 0)) continue;
          ++pairs;
          ordered += b.p[i] > b.p[j] ? 1 : b.p[i] == b.p[j] ? 0.5 : 0;
        }
      begin = end;
      if (pairs == 0 || all_equal) continue;
      sum += ordered / pairs;
      ++count;
    }
  }
  return {{"gauc", (sum + 1e-9) / (count + 2e-9)}, {"gauc_num_samples", count}};
}

double Xauc(const Batches& batches) {
  double agree = 0, all = 0;
  for (const MetricColumns& b : batches)
    for (size_t i = 0; i < b.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        const double w = double{b.w[i]} * double{b.w[j]};
        const float dp = b.p[i] - b.p[j], dy = b.y[i] - b.y[j];
        all += w;
        if (dp * dy > 0 || (dp == 0 && dy == 0)) agree += w;
      }
  return agree / all;
}

double Scalar(const Batches& batches) {
  double sum = 0;
  for (const MetricColumns& b : batches) {
    double labels = 0;
    for (const float y : b.y) labels += double{y};
    sum += labels / static_cast<double>(b.size());
  }
  return sum / static_cast<double>(batches.size());
}

// What a metric's values are of some batches; names without prefix.
Named Reference(const std::string& name, const Batches& b) {
  const double weight = Weight(b), positives = Positives(b);
  if (name == "ne") return {{"ne", Ne(b)}, {"logloss", CrossEntropy(b) / weight}};
  if (name == "unweighted_ne") return {{name, Ne(Unweighted(b))}};
  if (name == "ne_positive") {
    const double ce = Sum(b, [](double p, double y, double w) { return -w * y * std::log2(p); });
    return {{name, ce / Entropy(positives, weight)}};
  }
  if (name == "recalibrated_ne")
    return {{"ne", Ne(b, 0.25)}, {"logloss", CrossEntropy(b, 0.25) / weight}};
  if (name == "serving_ne") return {{"ne", Ne(b)}};
  if (name == "log_loss") return {{name, CrossEntropy(b) * std::log(2.0) / weight}};
  if (name == "cali_free_ne") {
    const double mean = Sum(b, [](double p, double, double w) { return w * p; }) / weight;
    return {{name,
             Ne(b) / (-positives * std::log2(mean) - (weight - positives) * std::log2(1 - mean))}};
  }
  if (name == "segmented_ne") return SegmentedNe(b);
  if (name == "calibration" || name == "serving_calibration")
    return {{"calibration", Calibration(b)}};
  if (name == "recalibrated_calibration") return {{"calibration", Calibration(b, 0.25)}};
  if (name == "ctr") return {{name, positives / weight}};
  if (name == "weighted_avg")
    return {{name, Sum(b, [](double p, double, double w) { return w * p; }) / weight}};
  if (name == "tensor_weighted_avg") return {{"weighted_avg", TensorMean(b)}};
  if (name == "scalar") return {{name, Scalar(b)}};
  if (name == "mse") return Mse(b);
  if (name == "nmse") {
    const double nmse = SquaredError(b) / (weight - positives);
    return {{"nmse", nmse}, {"nrmse", std::sqrt(nmse)}};
  }
  if (name == "mae")
    return {
        {name, Sum(b, [](double p, double y, double w) { return w * std::abs(y - p); }) / weight}};
  if (name == "accuracy")
    return {{name, Sum(b, [](double p, double y, double w) {
                     return (p >= 0.5) == (y == 1) ? w : 0;
                   }) / weight}};
  if (name == "precision" || name == "recall")
    return {{name, ShareAbove(b, 0.5, name == "precision")}};
  if (name == "hindsight_target_pr") return Hindsight(b);
  if (name == "multiclass_recall") return Multiclass(b);
  if (name == "precision_session_level" || name == "recall_session_level")
    return {{name, SessionLevel(b, name == "precision_session_level")}};
  if (name == "ndcg") return {{name, Ndcg(b)}};
  if (name == "gauc") return Gauc(b);
  if (name == "xauc") return {{name, Xauc(b)}};
  ADD_FAILURE() << "no reference for " << name;
  return {};
}

// Other tests have these.
bool IsElsewhere(const std::string& name) {
  return name == "auc" || name == "auprc" || name == "rauc" || name == "tower_qps" ||
         name == "output";
}

MetricBatch BatchOf(const MetricColumns& c, const MetricKind& kind,
                    const std::vector<std::span<const float>>& tensors) {
  MetricBatch batch{.examples = c.view(),
                    .sessions = c.sessions,
                    .grouping_keys = c.groups,
                    .num_candidates = c.candidates};
  if (kind.needs == MetricNeeds::kTaskTensor) batch.tensors = tensors;
  if (kind.name == "multiclass_recall") batch.examples = {c.scores, c.classes, c.w};
  return batch;
}

void ExpectValues(const std::vector<MetricValue>& got, const std::string& prefix,
                  const Named& want) {
  for (const auto& [name, value] : want) {
    const auto found = std::find_if(got.begin(), got.end(),
                                    [&](const MetricValue& v) { return v.name == prefix + name; });
    ASSERT_NE(found, got.end()) << prefix << name;
    EXPECT_NEAR(found->value, value, 1e-9 * (1 + std::abs(value))) << prefix << name;
  }
}

class Formulas : public ::testing::TestWithParam<std::string> {};

TEST_P(Formulas, LifetimeAndWindowAreThoseOfTheObviousLoop) {
  const MetricKind& kind = MetricKindOf(GetParam());
  std::mt19937 random(11);
  const auto metric = kind.make(OptionsFor(kind), 70, testing::CountingClock());
  Batches all, kept;
  size_t examples = 0;
  for (int step = 0; step < 12; ++step) {
    const MetricColumns batch = RandomColumns(random, step == 6 ? 90 : 15 + random() % 20);
    const std::vector<std::span<const float>> tensors = {batch.x};
    metric->Update(BatchOf(batch, kind, tensors));
    all.push_back(batch);
    kept.push_back(batch);
    examples += batch.size();
    for (; examples > 70 && kept.size() > 1; kept.erase(kept.begin())) examples -= kept[0].size();
    const auto values = metric->Values();
    ExpectValues(values, "lifetime_",
                 Reference(kind.name, kind.name == "scalar" ? Batches{batch} : all));
    if (kind.name != "segmented_ne") ExpectValues(values, "window_", Reference(kind.name, kept));
    if (kind.name.starts_with("serving"))
      ExpectValues(values, "", {{"total_examples", TotalExamples(all)}});
  }
}

std::vector<std::string> SumMetrics() {
  std::vector<std::string> names;
  for (const MetricKind& kind : AllMetricKinds())
    if (!IsElsewhere(kind.name)) names.push_back(kind.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Metrics, Formulas, ::testing::ValuesIn(SumMetrics()),
                         [](const auto& info) { return info.param; });

double ValueOf(RecMetric& metric, const std::string& name) {
  for (const MetricValue& value : metric.Values())
    if (value.name == name) return value.value;
  ADD_FAILURE() << "no value " << name;
  return 0;
}

std::unique_ptr<RecMetric> Make(const std::string& name, const MetricOptions& options = {}) {
  return MetricKindOf(name).make(options, 100, testing::CountingClock());
}

TEST(Formulas, WhatHasNothingToDivideByIsZero) {
  for (const char* name : {"mse", "nmse", "mae", "accuracy", "precision", "recall", "xauc", "ctr",
                           "calibration", "auprc"}) {
    const auto metric = Make(name);
    EXPECT_EQ(ValueOf(*metric, std::string("lifetime_") + name), 0) << name;
    EXPECT_EQ(ValueOf(*metric, std::string("window_") + name), 0) << name;
  }
  EXPECT_EQ(ValueOf(*Make("auc"), "window_auc"), 0.5);
  EXPECT_EQ(ValueOf(*Make("rauc"), "window_rauc"), 0.5);
  EXPECT_EQ(ValueOf(*Make("gauc"), "window_gauc"), 0.5);
}

TEST(Formulas, NdcgOptions) {
  const std::vector<float> p = {0.9f, 0.5f, 0.1f, 0.7f}, y = {0, 2, 1, 3}, w = {1, 2, 1, 4};
  const std::vector<int64_t> sessions = {5, 5, 5, 9};
  const MetricBatch batch{.examples = {p, y, w}, .sessions = sessions};
  const auto value = [&](const MetricOptions& options) {
    const auto metric = Make("ndcg", options);
    metric->Update(batch);
    return ValueOf(*metric, "lifetime_ndcg");
  };
  const double l3 = std::log2(3.0);
  const double dcg = 2 / l3 + 0.5, ideal = 2 + 1 / l3;
  EXPECT_NEAR(value({}), 2 * (1 - dcg / ideal) / 2, 1e-12);
  EXPECT_NEAR(value({.report_ndcg_as_decreasing_curve = false}), (2 * dcg / ideal + 4) / 2, 1e-12);
  EXPECT_NEAR(value({.remove_single_length_sessions = true}), 2 * (1 - dcg / ideal), 1e-12);
  EXPECT_NEAR(value({.exponential_gain = true}), (1 - (3 / l3 + 0.5) / (3 + 1 / l3)), 1e-12);
  EXPECT_NEAR(value({.k = 2}), (1 - (2 / l3) / ideal), 1e-12);
  // Scaled: labels 0, 4, 1 and predictions 0.9, 1, 0.1 of the first session.
  EXPECT_NEAR(value({.scale_by_weights_tensor = true}), (1 - (4 + 0.5) / (4 + 1 / l3)) / 2, 1e-6);
}

TEST(Formulas, NdcgOfABatchWithoutSessionsPushesNothingOut) {
  const auto metric = MetricKindOf("ndcg").make({.remove_single_length_sessions = true}, 3,
                                                testing::CountingClock());
  const std::vector<float> p = {0.1f, 0.9f}, y = {1, 0};
  const std::vector<int64_t> pair = {1, 1}, single = {1, 2};
  metric->Update({.examples = {p, y, {}}, .sessions = pair});
  const double before = ValueOf(*metric, "window_ndcg");
  metric->Update({.examples = {p, y, {}}, .sessions = single});
  EXPECT_EQ(ValueOf(*metric, "window_ndcg"), before);
}

TEST(Formulas, SessionLevelRanksLabelsIfAsked) {
  const std::vector<float> p = {0.9f, 0.5f, 0.7f}, y = {1, 5, 3};
  const std::vector<int64_t> sessions = {1, 1, 1};
  const auto metric =
      Make("recall_session_level", {.top_threshold = 2, .run_ranking_of_labels = true});
  metric->Update({.examples = {p, y, {}}, .sessions = sessions});
  EXPECT_EQ(ValueOf(*metric, "lifetime_recall_session_level"), 0.5);  // example 2 of 1 and 2
}

TEST(Formulas, OutputIsTheMeanOfTheLastBatch) {
  const auto metric = Make("output", {.tensors = {"a", "b"}});
  const std::vector<float> y = {1}, first = {8}, a = {1, 2}, b = {3};
  const std::vector<std::span<const float>> before = {first, first}, now = {a, b};
  metric->Update({.examples = {y, y, {}}, .tensors = before});
  metric->Update({.examples = {y, y, {}}, .tensors = now});
  EXPECT_EQ(ValueOf(*metric, "output_a"), 1.5);
  EXPECT_EQ(ValueOf(*metric, "output_b"), 3);
}

TEST(Formulas, AtMostAThousandBatchesAreKept) {
  const auto metric = MetricKindOf("ctr").make({}, 1 << 20, testing::CountingClock());
  const std::vector<float> p = {0.5f}, one = {1}, zero = {0};
  metric->Update({.examples = {p, one, {}}});
  for (int i = 0; i < 999; ++i) metric->Update({.examples = {p, zero, {}}});
  EXPECT_EQ(ValueOf(*metric, "window_ctr"), 1e-3);
  metric->Update({.examples = {p, zero, {}}});
  EXPECT_EQ(ValueOf(*metric, "window_ctr"), 0);
}

TEST(Formulas, MissingInputsAreErrors) {
  const std::vector<float> p = {0.5f, 0.5f};
  const MetricBatch batch{.examples = {p, p, {}}};
  for (const char* name :
       {"ndcg", "recall_session_level", "segmented_ne", "gauc", "tensor_weighted_avg", "output"})
    EXPECT_THROW(Make(name, OptionsFor(MetricKindOf(name)))->Update(batch), Error) << name;
  const std::vector<int64_t> groups = {0, 1};
  EXPECT_THROW(Make("segmented_ne")->Update({.examples = batch.examples, .grouping_keys = groups}),
               Error);
  EXPECT_THROW(Make("multiclass_recall"), Error);
}

}  // namespace
}  // namespace tessera
