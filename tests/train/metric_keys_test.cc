// Metrics of sessions and groups of a training: whose numbers they are, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "data/first_ids.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/labelled.h"
#include "train/data_sets.h"
#include "train/run/training_metrics.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Labelled;
using testing::LabelledConfig;
using testing::RowsFor;
using testing::TempPath;

// A configuration with these metrics of the task "click", and of "buy", for which fewer rows
// count.
TrainConfig WithKeys(const nlohmann::json& metrics, const std::string& session = "cat_0") {
  nlohmann::json json = nlohmann::json::parse(ToJson(LabelledConfig(RankingModelType::kDlrm)));
  json["metrics"]["rec_metrics"] = metrics;
  for (const char* task : {"click", "buy"})
    json["metrics"]["rec_tasks"].push_back({{"name", task},
                                            {"label_name", std::string("label_") + task},
                                            {"prediction_name", std::string("prediction_") + task},
                                            {"session_name", session}});
  return ParseTrainConfig(json.dump(), "metrics");
}

// The lines of an evaluation and of a step of one batch, before which nothing was learned.
std::pair<nlohmann::json, nlohmann::json> MetricsOfOneBatch(const TrainConfig& config) {
  Context ctx({.threads = 1, .seed = 3});
  Trainer trainer(ctx, config);
  const std::string path = TempPath("keys.jsonl");
  std::remove(path.c_str());
  TrainingMetrics metrics(ctx, trainer, {.json_lines = path});
  Labelled rows(DataSets(RowsFor(config), {}).OpenTrain(0));
  int batches = 0;
  trainer.Evaluate(
      rows, [&] { return batches++ == 1; }, metrics.BeginEvaluation());
  metrics.EndEvaluation({.epoch = 0, .step = 0, .fraction = 0}, 0.5);
  std::vector<ScoredBatch> scored;
  Labelled again(DataSets(RowsFor(config), {}).OpenTrain(0));
  trainer.Step(*again.Next(), &scored);
  metrics.OnStep(scored, 1, 1, 0.5);
  metrics.OnEpochEnd(1, 1);
  std::istringstream lines(testing::ReadFile(path));
  std::string eval, train;
  EXPECT_TRUE(std::getline(lines, eval) && std::getline(lines, train));
  return {nlohmann::json::parse(eval)["metrics"], nlohmann::json::parse(train)["metrics"]};
}

// Sessions and groups are features, labels and tensors of another task, whatever rows count.
TEST(MetricKeys, MetricsHaveKeysOfTheRowsThatCount) {
  for (const char* key : {"cat_0", "stars", "label_click", "label_rating"}) {
    const auto [eval, train] =
        MetricsOfOneBatch(WithKeys({{"ne", nlohmann::json::object()},
                                    {"segmented_ne", {{"num_groups", 100}, {"grouping_keys", key}}},
                                    {"auc", {{"grouped_auc", true}, {"grouping_keys", key}}},
                                    {"recall_session_level", {{"top_threshold", 2}}},
                                    {"ndcg", nlohmann::json::object()}},
                                   key));
    ASSERT_GT(eval.size(), 200u);
    for (const auto& [name, value] : eval.items()) {
      ASSERT_EQ(train.at(name).is_number(), value.is_number()) << name;
      if (!value.is_number()) continue;
      EXPECT_NEAR(train.at(name).get<double>(), value.get<double>(), 1e-5) << key << " " << name;
    }
    for (const char* metric : {"ndcg-click|window_ndcg", "auc-buy|window_grouped_auc",
                               "recall_session_level-click|lifetime_recall_session_level"})
      EXPECT_TRUE(train.at(metric).is_number()) << key << " " << metric;
    if (std::string(key) == "label_click") {  // all rows that count for buy are clicks
      EXPECT_EQ(train.at("segmented_ne-buy|lifetime_segmented_ne_1"),
                train.at("ne-buy|lifetime_ne"));
    }
  }
}

// The rows of a group, and no others, are in its value.
TEST(MetricKeys, AGroupIsOfTheRowsWithItsKey) {
  const TrainConfig config =
      WithKeys({{"segmented_ne", {{"num_groups", 100}, {"grouping_keys", "cat_0"}}}});
  const nlohmann::json train = MetricsOfOneBatch(config).second;
  Context ctx({.threads = 1, .seed = 3});
  Trainer trainer(ctx, config);
  const Batch batch = *Labelled(DataSets(RowsFor(config), {}).OpenTrain(0)).Next();
  const std::vector<int64_t> groups = FirstIds(ctx, batch, "cat_0");
  const Tensor predictions = trainer.Predict(batch);
  std::map<int64_t, std::vector<std::pair<double, double>>> rows;
  for (int64_t i = 0; i < batch.size(); ++i)
    rows[groups[static_cast<size_t>(i)]].emplace_back(predictions.span<float>()[3 * i],
                                                      batch.labels.span<float>()[3 * i]);
  int compared = 0;
  for (const auto& [group, of_group] : rows) {
    double loss = 0, clicks = 0;
    const auto bits = [](double p, double y) {
      return -(y * std::log2(p) + (1 - y) * std::log2(1 - p));
    };
    for (const auto& [p, y] : of_group) clicks += y;
    const double rate = clicks / static_cast<double>(of_group.size());
    if (rate == 0 || rate == 1) continue;
    for (const auto& [p, y] : of_group) loss += bits(p, y);
    const double want = loss / static_cast<double>(of_group.size()) / bits(rate, rate);
    EXPECT_NEAR(
        train.at(Format("segmented_ne-click|lifetime_segmented_ne_{}", group)).get<double>(), want,
        1e-4);
    ++compared;
  }
  EXPECT_GT(compared, 3);
}

TEST(MetricKeys, KeysThatNoRowHasAreRefusedBeforeTheStart) {
  const auto error = [&](const nlohmann::json& metrics, const std::string& session = "cat_0") {
    return ErrorOf([&] { CheckTrainingMetrics(WithKeys(metrics, session)); });
  };
  EXPECT_EQ(error({{"ndcg", nlohmann::json::object()}}), "");
  EXPECT_THAT(
      error({{"ndcg", nlohmann::json::object()}}, "nobody"),
      HasSubstr("metrics: 'nobody' is to tell sessions or groups apart; expected a label or "
                "a feature of the data, of which there are click, stars, bought, cat_0"));
  EXPECT_THAT(error({{"segmented_ne", {{"num_groups", 2}}}}), HasSubstr("'grouping_keys' is to"));
  EXPECT_THAT(error({{"multiclass_recall", {{"number_of_classes", 3}}}}),
              HasSubstr("but a task of a training has one"));
}

}  // namespace
}  // namespace tessera
