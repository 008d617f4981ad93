// Every metric beside its formula as an obvious loop over examples (testing/reference_metrics.h).
#include "metrics/formulas/formulas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <functional>
#include <map>

#include "metrics/metric_registry.h"
#include "tests/metrics/testing/metric_stream.h"
#include "tests/metrics/testing/reference_metrics.h"

namespace tessera {
namespace {

using testing::Batches;
using testing::MetricColumns;
using testing::Named;
using testing::OptionsFor;
using testing::RandomColumns;
using testing::Reference;

// Whether another test covers the metric.
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
  if (kind.name == "multi_label_precision") batch.examples = {c.predicted_set, c.classes, c.w};
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
  const MetricKind& kind = FindMetricKind(GetParam());
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
    ExpectValues(values, "window_", Reference(kind.name, kept));
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
  return FindMetricKind(name).make(options, 100, testing::CountingClock());
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

TEST(Formulas, GaucWeighsExamples) {
  // Three sessions: 1·2 of 1·(2 + 1) pairs in order; positives of weight 0 alone; and equal labels,
  // which are half of either class, so that the session has both.
  const std::vector<float> p = {0.5f, 0.4f, 0.6f, 0.9f, 0.1f, 0.2f, 0.3f},
                           y = {1, 0, 0, 1, 0, 0.5f, 0.5f}, w = {1, 2, 1, 0, 3, 1, 1};
  const std::vector<int64_t> candidates = {3, 2, 2};
  const auto gauc = [&](std::span<const float> weights, const char* value) {
    const auto metric = Make("gauc");
    metric->Update({.examples = {p, y, weights}, .num_candidates = candidates});
    return ValueOf(*metric, value);
  };
  EXPECT_EQ(gauc(w, "lifetime_gauc_num_samples"), 2);
  EXPECT_NEAR(gauc(w, "lifetime_gauc"), (2.0 / 3 + 0.5) / 2, 1e-9);
  EXPECT_EQ(gauc({}, "window_gauc_num_samples"), 3);
  EXPECT_NEAR(gauc({}, "window_gauc"), (0.5 + 1 + 0.5) / 3, 1e-9);
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
  const auto metric = FindMetricKind("ndcg").make({.remove_single_length_sessions = true}, 3,
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
  const auto metric = FindMetricKind("ctr").make({}, 1 << 20, testing::CountingClock());
  const std::vector<float> p = {0.5f}, one = {1}, zero = {0};
  metric->Update({.examples = {p, one, {}}});
  for (int i = 0; i < 999; ++i) metric->Update({.examples = {p, zero, {}}});
  EXPECT_EQ(ValueOf(*metric, "window_ctr"), 1e-3);
  metric->Update({.examples = {p, zero, {}}});
  EXPECT_EQ(ValueOf(*metric, "window_ctr"), 0);
}

TEST(Formulas, MissingLabelsAreCountedByWeight) {
  const float nan = std::nanf(""), infinity = INFINITY;
  const std::vector<float> p = {0.5f, nan, 0.25f}, y = {nan, 1, nan}, w = {0.5f, 2, 4};
  const MetricBatch batch{.examples = {p, y, w}};
  const auto value = [&](const char* name) {
    const auto metric = Make(name);
    metric->Update(batch);
    return ValueOf(*metric, std::string("window_") + name);
  };
  EXPECT_EQ(value("num_missing_labels"), 4.5);
  EXPECT_EQ(value("num_positive_samples"), 2);
  EXPECT_EQ(value("weighted_sum_predictions"), 1.25);
  EXPECT_EQ(value("sum_weights"), 6.5);
  const std::vector<float> large = {infinity, 0, 0};
  const auto metric = Make("weighted_sum_predictions");
  metric->Update({.examples = {large, y, w}});
  EXPECT_EQ(ValueOf(*metric, "window_weighted_sum_predictions"), 0.5 * FLT_MAX);
}

TEST(Formulas, LabelsHaveNames) {
  MetricOptions options{.num_labels = 3, .label_names = {"_cat", "_dog", "_horse"}};
  const std::vector<float> p = {5, 3, 0}, y = {3, 3, 7}, w = {1, 2, 3};
  const auto metric = Make("multi_label_precision", options);
  metric->Update({.examples = {p, y, w}});
  EXPECT_EQ(ValueOf(*metric, "window_multi_label_precision_cat"), 1);
  EXPECT_EQ(ValueOf(*metric, "window_multi_label_precision_dog"), 1);
  EXPECT_EQ(ValueOf(*metric, "window_multi_label_precision_horse"), 0);
  options.label_names.pop_back();
  EXPECT_THROW(Make("multi_label_precision", options), Error);
  EXPECT_THROW(Make("multi_label_precision", {.num_labels = 25}), Error);
}

TEST(Formulas, MissingInputsAreErrors) {
  const std::vector<float> p = {0.5f, 0.5f};
  const MetricBatch batch{.examples = {p, p, {}}};
  for (const char* name :
       {"ndcg", "recall_session_level", "segmented_ne", "gauc", "tensor_weighted_avg", "output"})
    EXPECT_THROW(Make(name, OptionsFor(FindMetricKind(name)))->Update(batch), Error) << name;
  const std::vector<int64_t> groups = {0, 1};
  EXPECT_THROW(Make("segmented_ne")->Update({.examples = batch.examples, .grouping_keys = groups}),
               Error);
  EXPECT_THROW(Make("multiclass_recall"), Error);
}

}  // namespace
}  // namespace tessera
