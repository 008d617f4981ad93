#include "metrics/rec_metrics_config.h"

#include <gtest/gtest.h>

#include "metrics/metric_registry.h"
#include "metrics/rec_metrics_json.h"
#include "tests/metrics/testing/metric_stream.h"

namespace tessera {
namespace {

RecMetricsConfig Parse(const std::string& text) { return ParseRecMetricsConfig(text, "m.json"); }

TEST(RecMetricsConfig, EverythingMayBeLeftOut) {
  EXPECT_EQ(Parse("{}"), RecMetricsConfig());
  EXPECT_EQ(Parse(R"({"throughput_metric": null})").throughput, std::nullopt);
}

TEST(RecMetricsConfig, IsRead) {
  const RecMetricsConfig config = Parse(R"({
    "rec_tasks": [{"name": "click", "label_name": "y", "weight_name": "w"}, {"name": "buy"}],
    "rec_metrics": {
      "ne": {"window_size": 1000, "include_logloss": true},
      "auc": {"tasks": ["buy"], "grouped_auc": true},
      "ndcg": {"k": 3, "exponential_gain": true}},
    "throughput_metric": {"window_seconds": 5},
    "compute_interval_steps": 7})");
  ASSERT_EQ(config.tasks.size(), 2u);
  EXPECT_EQ(config.tasks[0], (RecTask{.name = "click", .label_name = "y", .weight_name = "w"}));
  ASSERT_EQ(config.metrics.size(), 3u);
  EXPECT_EQ(
      config.metrics[0],
      (RecMetricDef{.name = "ne", .window_size = 1000, .options = {.include_logloss = true}}));
  EXPECT_EQ(config.metrics[1].tasks, std::vector<std::string>{"buy"});
  EXPECT_TRUE(config.metrics[1].options.grouped);
  EXPECT_EQ(config.metrics[2].options.k, 3);
  EXPECT_EQ(config.throughput->window_seconds, 5);
  EXPECT_EQ(config.throughput->warmup_steps, 100);
  EXPECT_EQ(config.compute_interval_steps, 7);
}

TEST(RecMetricsConfig, EveryOptionOfAMetricIsAKeyOfItsJson) {
  for (const MetricKind& kind : AllMetricKinds()) {
    const internal::Json json = internal::RecMetricsToJson({.metrics = {{.name = kind.name}}});
    for (const std::string& option : kind.options)
      EXPECT_TRUE(json["rec_metrics"][kind.name].contains(option))
          << kind.name << ": " << option
          << " needs its line in VisitOptions (metrics/rec_metrics_json.cc)";
  }
}

TEST(RecMetricsConfig, GoesToJsonAndBack) {
  RecMetricsConfig config = testing::AllMetrics(500);
  // A metric's JSON has only the options that it uses.
  for (RecMetricDef& metric : config.metrics) metric.options = {.number_of_classes = 0};
  std::erase_if(config.metrics, [](const RecMetricDef& m) {
    return m.name == "multiclass_recall" || m.name.ends_with("session_level");
  });
  config.should_validate_update = true;
  EXPECT_EQ(Parse(ToJson(config)), config);
  config.throughput.reset();
  EXPECT_EQ(Parse(ToJson(config)), config);
}

void ExpectError(const std::string& text, const std::string& part) {
  try {
    Parse(text);
    ADD_FAILURE() << "no error for " << text;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(RecMetricsConfig, ErrorsSayWhere) {
  ExpectError(R"({"rec_metrics": {"nee": {}}})", "m.json: rec_metrics.nee: no metric is called");
  ExpectError(R"({"rec_metrics": {"ne": {"threshold": 1}}})", "threshold");
  ExpectError(R"({"rec_metrics": {"ne": {"window_size": 0}}})", "rec_metrics.ne.window_size");
  ExpectError(R"({"rec_metrics": {"ndcg": {"k": 0}}})", "expected k of -1 or above 0, got 0");
  ExpectError(R"({"rec_metrics": {"recall_session_level": {}}})", "top_threshold");
  ExpectError(R"({"rec_metrics": {"recalibrated_ne": {"recalibration_coefficient": 0}}})",
              "a number above 0");
  ExpectError(R"({"rec_metrics": ["ne"]})", "an object");
  ExpectError(R"({"rec_tasks": []})", "at least one task");
  ExpectError(R"({"rec_tasks": [{"name": "a"}, {"name": "a"}]})", "two are called 'a'");
  ExpectError(R"({"throughput_metric": {"warmup_steps": 0}})", "throughput_metric.warmup_steps");
  ExpectError(R"({"metrics": {}})", "metrics");
}

}  // namespace
}  // namespace tessera
