// Options of metrics, each beside an obvious loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "comm/local_communicator.h"
#include "metrics/rec_metric_module.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using ::testing::Contains;
using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

Tensor Floats(std::vector<float> values) {
  Context host({.threads = 1});
  return Tensor::From(host, values);
}
Tensor Longs(std::vector<int64_t> values) {
  Context host({.threads = 1});
  return Tensor::From(host, values);
}

MetricReport Computed(const std::string& metrics, const ModelOutput& output,
                      const std::string& task = "") {
  RecMetricModule module(ParseRecMetricsConfig(R"({"rec_tasks": [{"name": "t")" + task +
                                                   R"(}], "rec_metrics": )" + metrics +
                                                   R"(, "throughput_metric": null})",
                                               "test"));
  module.Update(output);
  return module.Compute();
}

// The share of pairs in the right order; ties count half.
double PairAuc(const std::vector<float>& p, const std::vector<float>& y) {
  double good = 0, pairs = 0;
  for (size_t i = 0; i < p.size(); ++i)
    for (size_t j = 0; j < p.size(); ++j) {
      if (!(y[i] == 1 && y[j] == 0)) continue;
      ++pairs;
      good += p[i] > p[j] ? 1 : p[i] == p[j] ? 0.5 : 0;
    }
  return good / pairs;
}

TEST(MetricOptionsTest, SoftLabelsAreBinnedForAuc) {
  const std::vector<float> p = {0.1f, 0.4f, 0.4f, 0.8f, 0.3f}, y = {0.01f, 0.039f, 0, 0.9f, 0.038f};
  const ModelOutput output = {{"prediction", Floats(p)}, {"label", Floats(y)}};
  EXPECT_DOUBLE_EQ(Computed(R"({"auc": {"apply_bin": true}})", output).at("auc-t|window_auc"),
                   PairAuc(p, {0, 1, 0, 1, 0}));
  EXPECT_NE(Computed(R"({"auc": {}})", output).at("auc-t|window_auc"), PairAuc(p, {0, 1, 0, 1, 0}));
}

TEST(MetricOptionsTest, PredictionsOfOneBinAreEqual) {
  const std::vector<float> p = {0.1f, 0.2f, 0.3f, 0.6f, 0.9f}, y = {1, 0, 1, 0, 1};
  std::vector<float> halves;
  for (const float x : p) halves.push_back(x < 0.5f ? 0.25f : 0.75f);
  const auto lifetime = [&](const std::string& options, const std::vector<float>& predictions) {
    return Computed(R"({"auprc": )" + options + "}",
                    {{"prediction", Floats(predictions)}, {"label", Floats(y)}})
        .at("auprc-t|lifetime_auprc");
  };
  EXPECT_DOUBLE_EQ(lifetime(R"({"num_bins": 2})", p), lifetime("{}", halves));
  EXPECT_NE(lifetime(R"({"num_bins": 2})", p), lifetime("{}", p));
}

TEST(MetricOptionsTest, GroupsAreToldApartByTheTensorThatIsNamed) {
  const std::vector<float> p = {0.1f, 0.4f, 0.4f, 0.8f, 0.3f, 0.5f}, y = {0, 1, 0, 1, 1, 0};
  const ModelOutput output = {{"prediction", Floats(p)},
                              {"label", Floats(y)},
                              {"user", Longs({7, 7, 9, 9, 9, 7})},
                              {"page", Floats({0, 1.9f, 0.2f, 1, 0, 1})}};
  const MetricReport report = Computed(
      R"({"auc": {"grouped_auc": true, "grouping_keys": "user"},
          "segmented_ne": {"num_groups": 2, "grouping_keys": "page", "cast_keys_to_int": true}})",
      output);
  const double of_7 = PairAuc({0.1f, 0.4f, 0.5f}, {0, 1, 0}),
               of_9 = PairAuc({0.4f, 0.8f, 0.3f}, {0, 1, 1});
  EXPECT_DOUBLE_EQ(report.at("auc-t|window_grouped_auc"), (of_7 + of_9) / 2);
  const MetricReport of_page_1 = Computed(
      R"({"ne": {}})", {{"prediction", Floats({0.4f, 0.8f, 0.5f})}, {"label", Floats({1, 1, 0})}});
  EXPECT_DOUBLE_EQ(report.at("segmented_ne-t|lifetime_segmented_ne_1"),
                   of_page_1.at("ne-t|lifetime_ne"));
  EXPECT_THAT(ErrorOf([&] {
                Computed(R"({"segmented_ne": {"num_groups": 2, "grouping_keys": "page"}})", output);
              }),
              HasSubstr("'page'"));
  EXPECT_THAT(ErrorOf([&] { Computed(R"({"auc": {"grouping_keys": ""}})", output); }),
              HasSubstr("a name that is not empty"));
}

TEST(MetricOptionsTest, NdcgOfANegativeTaskIsThatOfTheOppositeNumbers) {
  const std::vector<float> p = {0.1f, 0.5f, 0.75f}, y = {0, 1, 0.25f};
  std::vector<float> not_p, not_y;
  for (size_t i = 0; i < p.size(); ++i) {
    not_p.push_back(1 - p[i]);
    not_y.push_back(1 - y[i]);
  }
  const auto ndcg = [](const std::vector<float>& predictions, const std::vector<float>& labels,
                       const std::string& task) {
    return Computed(R"({"ndcg": {}})",
                    {{"prediction", Floats(predictions)},
                     {"label", Floats(labels)},
                     {"session", Longs({1, 1, 1})}},
                    R"(, "session_name": "session")" + task)
        .at("ndcg-t|window_ndcg");
  };
  EXPECT_NEAR(ndcg(p, y, R"(, "is_negative_task": true)"), ndcg(not_p, not_y, ""), 1e-7);
  EXPECT_GT(std::abs(ndcg(p, y, "") - ndcg(not_p, not_y, "")), 1e-3);
}

TEST(MetricOptionsTest, TheRSquaredOfLabelsThatAreAlikeIs1) {
  const MetricReport report =
      Computed(R"({"mse": {"include_r_squared": true}})",
               {{"prediction", Floats({0.25f, 0.5f})}, {"label", Floats({2, 2})}});
  EXPECT_EQ(report.at("mse-t|window_r_squared"), 1);
}

TEST(MetricOptionsTest, WithoutAnyWeightNeIsSmallInsteadOfNaN) {
  const ModelOutput output = {
      {"prediction", Floats({0.3f, 0.6f})}, {"label", Floats({0, 1})}, {"weight", Floats({0, 0})}};
  for (const std::string metric : {"ne", "ne_positive", "cali_free_ne"}) {
    const auto value = [&](const std::string& options) {
      return Computed("{\"" + metric + "\": " + options + "}", output,
                      R"(, "weight_name": "weight")")
          .at(metric + "-t|lifetime_" + metric);
    };
    EXPECT_EQ(value(R"({"allow_missing_label_with_zero_weight": true})"), 1e-12) << metric;
    EXPECT_NE(value("{}"), 1e-12) << metric;
  }
}

TEST(MetricOptionsTest, ComputationsComeAsFarApartAsAsked) {
  struct Case {
    const char* options;
    double seconds_a_step;
    int64_t steps;
  };
  for (const Case& c :
       {Case{R"("min_compute_interval": 9)", 0.5, 20}, Case{R"("max_compute_interval": 3)", 1, 2},
        Case{R"("max_compute_interval": 1)", 0.25, 4},
        Case{R"("min_compute_interval": 2, "max_compute_interval": 6)", 2, 2},
        Case{R"("min_compute_interval": 2, "max_compute_interval": 6)", 1, 4}}) {
    double now = 0;
    RecMetricModule module(
        ParseRecMetricsConfig(Format(R"({{"compute_interval_steps": 4, {}}})", c.options), "test"),
        {.clock = [&] { return now; }});
    std::vector<int64_t> computed;
    for (int64_t step = 1; step <= 60; ++step) {
      now += c.seconds_a_step;
      module.Update({{"label", Floats({1})}});
      if (!module.ShouldCompute()) continue;
      module.Compute();
      computed.push_back(step);
    }
    EXPECT_EQ(module.compute_interval_steps(), c.steps) << c.options;
    EXPECT_EQ(computed[0], 4);
    EXPECT_EQ(computed[1], 8);
    EXPECT_EQ(computed.back() - computed[computed.size() - 2], c.steps);
  }
  EXPECT_THAT(ErrorOf([] { ParseRecMetricsConfig(R"({"max_compute_interval": 0})", "c"); }),
              HasSubstr("max_compute_interval: expected a number above 0"));
  EXPECT_THAT(ErrorOf([] {
                ParseRecMetricsConfig(R"({"min_compute_interval": 5, "max_compute_interval": 4})",
                                      "c");
              }),
              HasSubstr("not less than min_compute_interval"));
}

TEST(MetricOptionsTest, RanksAgreeOnTheInterval) {
  RunLocalRanks(2, [](Communicator& comm) {
    double now = 0;
    RecMetricModule module(
        ParseRecMetricsConfig(R"({"compute_interval_steps": 2, "max_compute_interval": 1})", "c"),
        {.ranks = 2, .clock = [&] { return now; }});
    for (int step = 1; step <= 4; ++step) {
      now += comm.rank() == 0 ? 1 : 0.125;
      module.Update({{"label", Floats({1})}});
      if (module.ShouldCompute()) module.Compute(comm);
    }
    EXPECT_EQ(module.compute_interval_steps(), 2);  // of rank 1, whose steps are fast
  });
}

TEST(MetricOptionsTest, TheBatchSizeOfAStageIsReported) {
  const RecMetricsConfig config = ParseRecMetricsConfig(
      R"({"throughput_metric": {"batch_size_stages": [{"batch_size": 8, "max_iters": 2},
                                                      {"batch_size": 32}]}})",
      "test");
  EXPECT_EQ(ParseRecMetricsConfig(ToJson(config), "again"), config);
  RecMetricModule module(config);
  const auto step = [](RecMetricModule& of) {
    of.Update({{"label", Floats({1, 0})}});
    return of.Compute().at("throughput-throughput|batch_size");
  };
  EXPECT_EQ(step(module), 8);
  EXPECT_EQ(step(module), 8);
  RecMetricModule resumed(config);
  resumed.Load(module.State());
  EXPECT_EQ(step(module), 32);
  EXPECT_EQ(step(resumed), 32);
  EXPECT_THAT(RecMetricModule({}).Compute(), Not(Contains(Key(HasSubstr("batch_size")))));
  for (const char* stages :
       {R"([{"batch_size": 8, "max_iters": 2}])", R"([{"batch_size": 8}, {"batch_size": 9}])",
        R"([{"batch_size": 8, "max_iters": 2}, {"batch_size": 8, "max_iters": 2},
                                 {"batch_size": 9}])"})
    EXPECT_THAT(ErrorOf([&] {
                  ParseRecMetricsConfig(
                      Format(R"({{"throughput_metric": {{"batch_size_stages": {}}}}})", stages),
                      "c");
                }),
                HasSubstr("batch_size_stages: stage"));
}

}  // namespace
}  // namespace tessera
