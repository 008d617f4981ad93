// Tasks of a training: each has the rows that count for it, in loss, gradient and metrics; the same
// result in micro-batches, by pipelines and on ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/train/testing/files.h"
#include "tests/train/testing/labelled.h"
#include "tests/train/testing/ranks_run.h"
#include "train/checkpoint/checkpoint.h"
#include "train/pipeline/trainer_pipeline.h"
#include "train/run/training_metrics.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Labelled;
using testing::LabelledConfig;
using testing::RowsFor;
using testing::TempPath;

struct Outcome {
  std::vector<double> losses;
  std::string bytes;  // of a checkpoint
  EvaluationValues evaluation;
};

struct HowToTrain {
  PipelineKind pipeline = PipelineKind::kNone;
  bool weighted = false;
  int64_t rows = 1000;
};

Outcome Train(const TrainConfig& config, const HowToTrain& how = {},
              std::optional<TrainingRanks> ranks = {}) {
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config, std::move(ranks));
  const DataSets data(RowsFor(config, how.rows), {});
  Labelled source(data.OpenTrain(0), how.weighted), eval(data.OpenEval(), how.weighted);
  TrainerPipeline pipeline(trainer, how.pipeline);
  const auto steps = pipeline.Over(source, /*scored=*/true);
  Outcome outcome;
  while (const auto trained = steps->Next()) {
    EXPECT_EQ(trained->scored.size(), 3u);
    outcome.losses.push_back(trained->loss);
    for (const char* task : {"click", "rating", "buy"})
      outcome.losses.push_back(trainer.losses().at(task));
  }
  outcome.evaluation = trainer.Evaluate(eval);
  if (trainer.comm() != nullptr) return outcome;
  trainer.Save(TempPath("tasks"));
  outcome.bytes = testing::ReadFile(TempPath("tasks"));
  return outcome;
}

class TasksTrainer : public ::testing::TestWithParam<RankingModelType> {};
INSTANTIATE_TEST_SUITE_P(Types, TasksTrainer,
                         ::testing::Values(RankingModelType::kDlrm, RankingModelType::kDlrmDcn,
                                           RankingModelType::kDlrmProjection,
                                           RankingModelType::kDeepFm, RankingModelType::kMmoe,
                                           RankingModelType::kPle),
                         [](const auto& info) { return ToString(info.param); });

TEST_P(TasksTrainer, PipelinesAndMicroBatchesChangeNoBit) {
  const TrainConfig config = LabelledConfig(GetParam());
  for (const bool weighted : {false, true}) {
    const Outcome plain = Train(config, {.weighted = weighted});
    ASSERT_GT(plain.losses.size(), 4u);
    for (const PipelineKind kind : {PipelineKind::kBase, PipelineKind::kSparseDist})
      EXPECT_TRUE(Train(config, {kind, weighted}).bytes == plain.bytes) << ToString(kind);
    TrainConfig cut = config;
    cut.batch_size = 128;
    cut.accumulate_steps = 2;
    EXPECT_EQ(Train(cut, {.weighted = weighted}).losses, plain.losses);
  }
}

TEST_P(TasksTrainer, RanksAreNearOneProcess) {
  const TrainConfig config = LabelledConfig(GetParam());
  const Outcome alone = Train(config, {.weighted = true});
  RunLocalRanks(3, [&](Communicator& comm) {
    const Outcome mine =
        Train(config, {.weighted = true},
              TrainingRanks{&comm, testing::PlanFor(config, 3, "row_wise"), WireCodecs()});
    ASSERT_EQ(mine.losses.size(), alone.losses.size());
    for (size_t i = 0; i < mine.losses.size(); ++i)
      EXPECT_NEAR(mine.losses[i], alone.losses[i], 2e-4 * alone.losses[i]) << i;
    EXPECT_NEAR(mine.evaluation.loss, alone.evaluation.loss, 1e-3);
  });
}

TEST_P(TasksTrainer, EveryTaskIsLearned) {
  const TrainConfig config = LabelledConfig(GetParam());
  const EvaluationValues first = Train(config).evaluation,
                         values = Train(config, {.rows = 20000}).evaluation;
  ASSERT_EQ(values.tasks.size(), 3u);
  EXPECT_EQ(values.tasks[0].values.clicks.examples, 500);
  EXPECT_EQ(values.tasks[1].values.clicks.examples, 333);
  EXPECT_LT(values.tasks[2].values.clicks.examples, 400);  // clicks alone
  EXPECT_EQ(values.auc, values.tasks[0].values.clicks.auc);
  EXPECT_GT(values.auc, 0.7);
  EXPECT_LT(values.tasks[1].values.mse, first.tasks[1].values.mse);
  EXPECT_GT(values.tasks[2].values.clicks.auc, 0.7);
  EXPECT_TRUE(std::isnan(values.tasks[1].values.clicks.auc));
  EXPECT_NEAR(
      values.loss,
      values.log_loss + 0.25 * values.tasks[1].values.mse + values.tasks[2].values.clicks.log_loss,
      1e-12);
}

class TasksTrainerTest : public ::testing::Test {
 protected:
  Batch First(bool weighted = false) {
    return *Labelled(DataSets(RowsFor(config_), {}).OpenTrain(0), weighted).Next();
  }
  const TrainConfig config_ = LabelledConfig(RankingModelType::kDlrm);
};

// The losses of a step, computed from what was foreseen before it.
TEST_F(TasksTrainerTest, LossesAreMeansOverRowsThatCount) {
  Context ctx({.threads = 1, .seed = 3});
  Trainer trainer(ctx, config_);
  const Batch batch = First(/*weighted=*/true);
  std::vector<ScoredBatch> scored;
  const double loss = trainer.Step(batch, &scored);
  const auto all = batch.labels.span<float>();
  double sums[3] = {}, weights[3] = {};
  for (int64_t i = 0; i < batch.size(); ++i) {
    const float* const row = &all[3 * i];
    const double w = batch.weights.span<float>()[i];
    const auto add = [&](int task, double l) {
      sums[task] += w * l;
      weights[task] += w;
    };
    const auto bce = [&](int task, float label) {
      const double p = scored[task].predictions.span<float>()[i];
      return -(label > 0 ? std::log(p) : std::log(1 - p));
    };
    add(0, bce(0, row[0]));
    if (!std::isnan(row[1])) add(1, std::pow(scored[1].predictions.span<float>()[i] - row[1], 2));
    if (row[0] > 0) add(2, bce(2, row[2]));
    EXPECT_EQ(scored[1].weights.span<float>()[i], std::isnan(row[1]) ? 0 : w);
    EXPECT_EQ(scored[2].weights.span<float>()[i], row[0] > 0 ? w : 0);
  }
  const double clicks = sums[0] / weights[0], stars = sums[1] / weights[1],
               bought = sums[2] / weights[2];
  EXPECT_NEAR(trainer.losses().at("click"), clicks, 1e-5);
  EXPECT_NEAR(trainer.losses().at("rating"), stars, 1e-4);
  EXPECT_NEAR(trainer.losses().at("buy"), bought, 1e-5);
  EXPECT_NEAR(loss, clicks + 0.25 * stars + bought, 1e-4);
}

// One task that is named is the default; labels that are NaN, or a batch of none, learn nothing.
TEST_F(TasksTrainerTest, OneTaskIsTheDefault) {
  TrainConfig named = testing::SmallConfig();
  named.model.tasks = {{.name = "click", .label = "label"}};
  named = ParseTrainConfig(ToJson(named), "one task");
  const auto trained = [&](const TrainConfig& config) {
    Context ctx({.threads = 1, .seed = 3});
    Trainer trainer(ctx, config);
    RunTraining(trainer, DataSets(config, {}));
    trainer.Save(TempPath("one"));
    std::string tensors;
    const Checkpoint saved = ReadCheckpoint(TempPath("one"));
    for (const CheckpointEntry& entry : saved.tensors)
      tensors += entry.name + Format("{}", saved.Read(ctx, entry).numel());
    std::vector<float> answers =
        trainer.Predict(*DataSets(config, {}).OpenEval()->Next()).ToVector<float>();
    return std::pair(tensors, answers);
  };
  EXPECT_EQ(trained(named), trained(testing::SmallConfig()));

  Context ctx({.threads = 1, .seed = 3});
  Trainer trainer(ctx, testing::SmallConfig());
  Batch batch = *DataSets(testing::SmallConfig(), {}).OpenTrain(0)->Next();
  const std::vector<float> before = trainer.Predict(batch).ToVector<float>();
  std::ranges::fill(batch.labels.span<float>(), std::nanf(""));
  EXPECT_EQ(trainer.Step(batch), 0);
  batch.labels = {};
  EXPECT_THAT(ErrorOf([&] { trainer.Step(batch); }), HasSubstr("a batch without labels"));
  batch.labels = Tensor::Zeros(ctx, {batch.size(), 2});
  EXPECT_THAT(ErrorOf([&] { trainer.Step(batch); }), HasSubstr("expected a column for each of 1"));
}

TEST_F(TasksTrainerTest, MetricsHaveASetATask) {
  TrainConfig config = config_;
  const auto lines = [&] {
    Context ctx({.threads = 1, .seed = 3});
    Trainer trainer(ctx, config);
    const std::string path = TempPath("tasks.jsonl");
    std::remove(path.c_str());
    TrainingMetrics metrics(ctx, trainer, {.json_lines = path});
    std::vector<ScoredBatch> scored;
    trainer.Step(First(), &scored);
    metrics.OnStep(scored, 1, 1, 0.5);
    metrics.OnEpochEnd(1, 1);
    Labelled eval(DataSets(RowsFor(config), {}).OpenEval());
    trainer.Evaluate(eval, nullptr, metrics.BeginEvaluation());
    metrics.EndEvaluation({.epoch = 1, .step = 1, .fraction = 1}, 0.5);
    return testing::ReadFile(path);
  };
  const std::string text = lines();
  for (const char* key : {"ne-click|window_ne", "auc-buy|window_auc", "mse-rating|window_mse"})
    EXPECT_THAT(text, HasSubstr(key));
  EXPECT_EQ(text.find("auc-rating"), std::string::npos);
  nlohmann::json json = nlohmann::json::parse(ToJson(config_));
  json["metrics"] = {{"rec_metrics", {{"mae", {{"tasks", {"rating"}}}}}}};
  config = ParseTrainConfig(json.dump(), "metrics");
  EXPECT_EQ(config.metrics->tasks.size(), 3u);
  EXPECT_EQ(config.metrics->tasks[1].prediction_name, "prediction_rating");
  EXPECT_THAT(lines(), HasSubstr("mae-rating|lifetime_mae"));
}

TEST_F(TasksTrainerTest, MetricsOfTwoTasksAtOnceAreRefused) {
  const auto error = [&](const nlohmann::json& task) {
    nlohmann::json json = nlohmann::json::parse(ToJson(config_));
    json["metrics"] = {{"rec_tasks", {task}}};
    const TrainConfig config = ParseTrainConfig(json.dump(), "metrics");
    return ErrorOf([&] { CheckTrainingMetrics(config); });
  };
  nlohmann::json task = {
      {"name", "t"}, {"label_name", "label_buy"}, {"prediction_name", "prediction_click"}};
  EXPECT_EQ(error(task),
            "metrics.rec_tasks[0] ('t'): its label_name 'label_buy' is of task 'buy', its "
            "prediction_name 'prediction_click' of task 'click', for which other rows count: "
            "expected names of one task");
  task["prediction_name"] = "prediction_buy";
  EXPECT_EQ(error(task), "");
  task["weight_name"] = "weight";  // of the first task
  EXPECT_THAT(error(task), HasSubstr("its weight_name 'weight' of task 'click'"));
}

// Rows that do not count for a task are in none of its metrics, also in those without weights;
// rows of weight 0 are.
TEST_F(TasksTrainerTest, MetricsOfTrainingHaveTheRowsOfEvaluations) {
  nlohmann::json json = nlohmann::json::parse(ToJson(config_));
  json["metrics"]["rec_metrics"] = {{"unweighted_ne", {{"tasks", {"click", "buy"}}}},
                                    {"ctr", nlohmann::json::object()},
                                    {"scalar", nlohmann::json::object()},
                                    {"average", nlohmann::json::object()},
                                    {"num_missing_labels", nlohmann::json::object()}};
  for (const char* task : {"click", "rating", "buy"})
    json["metrics"]["rec_tasks"].push_back(
        {{"name", task},
         {"label_name", std::string("label_") + task},
         {"prediction_name", std::string("prediction_") + task}});
  const TrainConfig config = ParseTrainConfig(json.dump(), "metrics");
  for (const bool weighted : {false, true}) {
    Context ctx({.threads = 1, .seed = 3});
    Trainer trainer(ctx, config);
    const std::string path = TempPath("same_rows.jsonl");
    std::remove(path.c_str());
    TrainingMetrics metrics(ctx, trainer, {.json_lines = path});
    Labelled rows(DataSets(RowsFor(config), {}).OpenTrain(0), weighted);
    int batches = 0;
    trainer.Evaluate(
        rows, [&] { return batches++ == 1; }, metrics.BeginEvaluation());
    metrics.EndEvaluation({.epoch = 0, .step = 0, .fraction = 0}, 0.5);
    std::vector<ScoredBatch> scored;
    trainer.Step(First(weighted), &scored);
    metrics.OnStep(scored, 1, 1, 0.5);
    metrics.OnEpochEnd(1, 1);
    std::istringstream lines(testing::ReadFile(path));
    std::string eval, train;
    ASSERT_TRUE(std::getline(lines, eval) && std::getline(lines, train));
    const nlohmann::json want = nlohmann::json::parse(eval)["metrics"],
                         got = nlohmann::json::parse(train)["metrics"];
    ASSERT_GT(want.size(), 20u);
    for (const auto& [key, value] : want.items())
      EXPECT_NEAR(got.at(key).get<double>(), value.get<double>(), 1e-5) << key;
    EXPECT_EQ(got.at("throughput-throughput|total_examples"), config.batch_size);
  }
}

TEST_F(TasksTrainerTest, DefaultMetricsAreThoseOfTheLosses) {
  const auto metrics = [&](const nlohmann::json& value) {
    nlohmann::json json = nlohmann::json::parse(ToJson(config_));
    json["metrics"] = value;
    return *ParseTrainConfig(json.dump(), "metrics").metrics;
  };
  EXPECT_EQ(metrics(nlohmann::json::object()), DefaultTrainingMetrics(config_));
  const RecMetricsConfig own =
      metrics({{"rec_tasks",
                {{{"name", "stars"}, {"prediction_name", "prediction_rating"}},
                 {{"name", "bought"}, {"prediction_name", "prediction_buy"}}}}});
  ASSERT_EQ(own.metrics.size(), 4u);
  EXPECT_EQ(own.metrics[0].name, "ne");
  EXPECT_EQ(own.metrics[0].tasks, std::vector<std::string>{"bought"});
  EXPECT_EQ(own.metrics[3].name, "mse");
  EXPECT_EQ(own.metrics[3].tasks, std::vector<std::string>{"stars"});
}

TEST_F(TasksTrainerTest, ClicksAreZeroToOne) {
  nlohmann::json json = nlohmann::json::parse(ToJson(config_));
  json["model"]["tasks"][1]["loss"] = "bce";  // of stars
  Context ctx({.threads = 1, .seed = 3});
  Trainer trainer(ctx, ParseTrainConfig(json.dump(), "c"));
  EXPECT_THAT(ErrorOf([&] { trainer.Step(First()); }),
              HasSubstr("learns by bce, so its labels are 0 to 1, but a row has "));
  Labelled eval(DataSets(RowsFor(config_), {}).OpenEval());
  EXPECT_THAT(ErrorOf([&] { trainer.Evaluate(eval); }), HasSubstr("\"at_least\" of the label"));
}

TEST_F(TasksTrainerTest, BadTasksAreRefused) {
  const auto refused = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json json = nlohmann::json::parse(ToJson(config_));
    json["model"]["tasks"][1][key] = value;
    return ErrorOf([&] { ParseTrainConfig(json.dump(), "c"); });
  };
  EXPECT_EQ(refused("label", "star"),
            "c: model.tasks[1].label: the data have no label 'star'; "
            "there is 'click', 'stars', 'bought'");
  EXPECT_THAT(refused("where", "x"), HasSubstr("c: model.tasks[1].where: the data have no label"));
  EXPECT_THAT(refused("name", "click"), HasSubstr("c: model.tasks: two are called 'click'"));
  EXPECT_THAT(refused("name", "a.b"), HasSubstr("a name without a dot"));
  EXPECT_THAT(refused("loss", "hinge"),
              HasSubstr(R"(expected "bce" or "mse" or "in_batch_softmax", got "hinge")"));
  EXPECT_THAT(refused("weight", -1), HasSubstr("expected a number of 0 or more, got -1"));
  nlohmann::json json = nlohmann::json::parse(ToJson(config_));
  json["model"]["over_arch"] = {16, 1};
  EXPECT_THAT(ErrorOf([&] { ParseTrainConfig(json.dump(), "c"); }),
              HasSubstr("model.over_arch: expected a last layer of 3, an output for each of the "
                        "tasks, got 1"));
}

}  // namespace
}  // namespace tessera
