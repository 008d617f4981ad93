// The metrics that a training writes as it goes.
#include "train/run/training_metrics.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "comm/local_communicator.h"
#include "metrics/rec_metrics_config.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"

namespace tessera {
namespace {

using Json = nlohmann::json;
using testing::ErrorOf;
using testing::SmallConfig;
using testing::TempPath;

// 16 steps an epoch, the last of 40 rows; windows of two batches and more.
TrainConfig ConfigWith(const std::string& metrics) {
  TrainConfig config = SmallConfig();
  config.metrics = ParseRecMetricsConfig(metrics, "metrics");
  return config;
}
TrainConfig Config(int64_t interval_steps = 6) {
  TrainConfig config = ConfigWith(R"({"rec_tasks": [{"name": "click"}],
      "throughput_metric": {"warmup_steps": 2},
      "rec_metrics": {"ne": {"window_size": 256}, "auc": {"window_size": 256}, "ctr": {"window_size": 128},
                      "auprc": {"window_size": 128}, "xauc": {"window_size": 64}}})");
  config.metrics->compute_interval_steps = interval_steps;
  return config;
}

std::vector<Json> Lines(const std::string& path) {
  std::istringstream text(testing::ReadFile(path));
  std::vector<Json> lines;
  for (std::string line; std::getline(text, line);) {
    Json json = Json::parse(line);
    json.erase("wall_time");
    EXPECT_GT(json["memory_bytes"], 0);
    json.erase("memory_bytes");
    for (const char* key : {"lifetime_throughput", "window_throughput"})
      json["metrics"].erase(std::string("throughput-throughput|") + key);
    lines.push_back(json);
  }
  return lines;
}

// Trains until `steps` are done, from a checkpoint if there is one, and saves there.
void Train(const TrainConfig& config, const TrainingMetricsOutput& output,
           const std::string& checkpoint = "", int64_t steps = 1000, bool resume = false) {
  Context ctx({.threads = 2, .seed = config.seed});
  Trainer trainer(ctx, config);
  if (resume) trainer.Load(ReadCheckpoint(checkpoint));
  TrainingRunOptions options{.checkpoint = checkpoint, .metrics = output};
  options.stop = [&] { return trainer.progress().step >= steps; };
  RunTraining(trainer, DataSets(config, {}), options);
}

TEST(TrainingMetrics, AreWrittenAsTheTrainingGoes) {
  const std::string path = TempPath("lines.jsonl"), folder = TempPath("board");
  Train(Config(), {.json_lines = path, .tensorboard = folder});
  const std::vector<Json> lines = Lines(path);
  std::vector<std::string> when;
  for (const Json& line : lines)
    when.push_back(line["phase"].get<std::string>() + " " + line["epoch"].dump() + " " +
                   line["step"].dump());
  EXPECT_EQ(when, (std::vector<std::string>{"train 1 6", "train 1 12", "train 1 16", "eval 1 16",
                                            "train 2 18", "train 2 24", "train 2 30", "train 2 32",
                                            "eval 2 32"}));
  EXPECT_EQ(lines[0]["metrics"]["throughput-throughput|total_examples"], 6 * 64);
  EXPECT_EQ(lines[7]["metrics"]["throughput-throughput|total_examples"], 2000);
  EXPECT_FALSE(lines[8]["metrics"].contains("throughput-throughput|total_examples"));
  for (const char* key : {"ne-click|lifetime_ne", "ne-click|window_ne", "auc-click|window_auc",
                          "ctr-click|lifetime_ctr", "auprc-click|lifetime_auprc"})
    for (const Json& line : lines) EXPECT_TRUE(line["metrics"][key].is_number()) << key;
  for (const char* phase : {"train", "eval"})
    EXPECT_FALSE(std::filesystem::is_empty(std::filesystem::path(folder) / phase));
}

TEST(TrainingMetrics, OfEvaluationsAreThoseOfTheReport) {
  const std::string path = TempPath("eval.jsonl");
  TrainConfig config = ConfigWith(
      R"({"rec_metrics": {"auc": {"window_size": 500}, "log_loss": {}, "calibration": {}}})");
  Context ctx({.threads = 2, .seed = config.seed});
  Trainer trainer(ctx, config);
  const TrainingRunReport report =
      RunTraining(trainer, DataSets(config, {}), {.metrics = {.json_lines = path}});
  const Json last = Lines(path).back()["metrics"];
  EXPECT_EQ(last["auc-DefaultTask|window_auc"], report.evaluation->auc);
  EXPECT_NEAR(last["log_loss-DefaultTask|lifetime_log_loss"].get<double>(),
              report.evaluation->log_loss, 1e-12);
  EXPECT_NEAR(last["calibration-DefaultTask|lifetime_calibration"].get<double>(),
              report.evaluation->calibration, 1e-12);
}

// A weight of 2 is an example twice, of 0 none; a batch without weights has ones.
TEST(TrainingMetrics, WeighExamples) {
  Context ctx({.threads = 1, .seed = 3});
  const Trainer trainer(ctx, SmallConfig());
  const auto floats = [&](const std::vector<float>& values) { return Tensor::From(ctx, values); };
  const auto said = [&](const ScoredBatch& scored) {
    const std::string path = TempPath("weighed.jsonl");
    std::filesystem::remove(path);
    TrainingMetrics metrics(ctx, trainer, {.json_lines = path});
    metrics.OnStep({scored}, 1, 1, 0.5);
    metrics.OnStep({{floats({0.25f}), floats({1}), floats({1})}}, 1, 2, 0.5);
    metrics.OnEpochEnd(1, 2);
    const auto evaluate = metrics.BeginEvaluation();
    const TaskExamples examples = {scored.predictions.ToVector<float>(),
                                   scored.labels.ToVector<float>(),
                                   scored.weights.ToVector<float>()};
    evaluate({&examples, 1}, {});
    metrics.EndEvaluation({.epoch = 1, .step = 2, .fraction = 1}, 0.5);
    std::vector<Json> lines = Lines(path);
    for (Json& line : lines) line["metrics"].erase("throughput-throughput|total_examples");
    return lines;
  };
  const std::vector<Json> weighed =
      said({floats({0.5f, 0.9f, 0.1f, 0.3f}), floats({1, 0, 0, 1}), floats({2, 0, 1, 1})});
  EXPECT_EQ(weighed,
            said({floats({0.5f, 0.5f, 0.1f, 0.3f}), floats({1, 1, 0, 1}), floats({1, 1, 1, 1})}));
  EXPECT_TRUE(weighed[0]["metrics"]["ne-click|lifetime_ne"].is_number());
}

TEST(TrainingMetrics, LeaveEvaluationsOutOfTheThroughput) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto begin = now();
  Context ctx({.threads = 1, .seed = 3});
  const Trainer trainer(ctx, ConfigWith(R"({"throughput_metric": {"warmup_steps": 1}})"));
  const std::string path = TempPath("throughput.jsonl");
  std::filesystem::remove(path);
  TrainingMetrics metrics(ctx, trainer, {.json_lines = path});
  const Tensor one = Tensor::From(ctx, std::vector<float>{0.5f});
  for (int64_t step = 1; step < 4; ++step) {
    metrics.OnStep({{one, one, one}}, 1, step, 0.5);
    metrics.BeginEvaluation();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    metrics.EndEvaluation({.epoch = 1, .step = step, .fraction = 0.5}, 0.5);
  }
  metrics.OnEpochEnd(1, 3);
  std::istringstream lines(testing::ReadFile(path));
  Json last;
  for (std::string line; std::getline(lines, line);) last = Json::parse(line);
  const double rate = last["metrics"]["throughput-throughput|lifetime_throughput"];
  const double counted = 2 / rate;  // the two examples after the warm-up
  EXPECT_LT(counted + 3 * 0.03, std::chrono::duration<double>(now() - begin).count());
}

TEST(TrainingMetrics, ChangeNothingOfWhatIsLearned) {
  const auto learned = [](const TrainingMetricsOutput& output) {
    Context ctx({.threads = 2, .seed = 3});
    Trainer trainer(ctx, SmallConfig());
    RunTraining(trainer, DataSets(SmallConfig(), {}), {.metrics = output});
    const std::string path = TempPath("learned");
    trainer.Save(path);
    return testing::ReadFile(path);
  };
  EXPECT_TRUE(learned({.json_lines = TempPath("any.jsonl")}) == learned({}));
}

// Where the last step of an epoch is the last one before the stop, its line is written once, before
// (every 4 steps) or after it (every 6).
TEST(TrainingMetrics, GoOnWhereTheyStopped) {
  const std::string whole = TempPath("whole.jsonl"), parts = TempPath("parts.jsonl"),
                    checkpoint = TempPath("checkpoint");
  for (const int64_t interval_steps : {4, 6}) {
    const TrainConfig config = Config(interval_steps);
    Train(config, {.json_lines = whole});
    for (const int64_t stop : {5, 16, 20}) {
      Train(config, {.json_lines = parts}, checkpoint, stop);
      Train(config, {.json_lines = parts}, checkpoint, 1000, true);
      EXPECT_EQ(Lines(parts), Lines(whole)) << stop << " of lines every " << interval_steps;
    }
  }
}

// A training that ends between the save at an epoch's end and the evaluation's line makes the
// evaluation when it goes on, also where the configuration has no "evaluation".
TEST(TrainingMetrics, HaveTheEvaluationThatWasCutOff) {
  const std::string whole = TempPath("whole.jsonl"), parts = TempPath("parts.jsonl"),
                    checkpoint = TempPath("cut_off");
  Train(Config(), {.json_lines = whole});
  Context ctx({.threads = 2, .seed = Config().seed});
  Trainer trainer(ctx, Config());
  TrainingRunOptions options{.checkpoint = checkpoint, .metrics = {.json_lines = parts}};
  options.stop = [&] { return trainer.progress().epoch == 1; };  // in the evaluation
  EXPECT_TRUE(RunTraining(trainer, DataSets(Config(), {}), options).stopped);
  EXPECT_EQ(Lines(parts).back()["phase"], "train");
  Train(Config(), {.json_lines = parts}, checkpoint, 1000, true);
  EXPECT_EQ(Lines(parts), Lines(whole));
}

TEST(TrainingMetrics, ACheckpointWithThemIsReadByATrainingWithout) {
  const std::string checkpoint = TempPath("with");
  Train(Config(), {.json_lines = TempPath("with.jsonl")}, checkpoint, 5);
  Train(SmallConfig(), {}, checkpoint, 7, true);
  Train(Config(), {.json_lines = TempPath("with.jsonl")}, checkpoint, 9, true);
  EXPECT_EQ(ReadCheckpoint(checkpoint).progress->step, 9);
}

// Ranks share each batch; windows are of whole steps, which have as many rows each.
TEST(TrainingMetrics, OfRanksAreThoseOfOneProcess) {
  TrainConfig config = Config();
  config.data.rows = 1024;
  const std::string alone = TempPath("alone.jsonl"), ranks = TempPath("ranks.jsonl"),
                    folder = TempPath("folder");
  Train(config, {.json_lines = alone});
  const auto run = [&](int64_t steps, bool resume, int count) {
    RunLocalRanks(count, [&](Communicator& comm) {
      Context ctx({.threads = 1, .seed = config.seed});
      Trainer trainer(ctx, config, TrainingRanks{&comm, testing::MixedPlan(config, count)});
      if (resume) {
        ShardedCheckpoint saved(folder);
        trainer.Load(saved);
      }
      TrainingRunOptions options{.checkpoint = folder, .metrics = {.json_lines = ranks}};
      options.stop = [&] { return trainer.progress().step >= steps; };
      RunTraining(trainer, DataSets(config, {}), options);
    });
  };
  run(14, false, 4);
  run(1000, true, 4);
  const std::vector<Json> got = Lines(ranks), want = Lines(alone);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    for (const auto& [key, value] : want[i]["metrics"].items()) {
      if (key.starts_with("xauc")) continue;  // of pairs of a rank's part
      EXPECT_NEAR(got[i]["metrics"][key].get<double>(), value.get<double>(), 1e-3)
          << key << " in line " << i;
    }
}

TEST(TrainingMetrics, WhatTrainingDoesNotHaveIsAnError) {
  const auto error = [](const std::string& metrics) {
    return ErrorOf(
        [&] { Train(ConfigWith(metrics), {.json_lines = TempPath("error.jsonl")}, "", 1); });
  };
  EXPECT_NE(
      error(
          R"({"rec_tasks": [{"name": "t", "session_name": "user"}], "rec_metrics": {"ndcg": {}}})")
          .find("'user' is to tell sessions or groups apart"),
      std::string::npos);
  EXPECT_NE(error(R"({"rec_metrics": {"ne": {"window_size": 63}}})").find("at least a batch"),
            std::string::npos);
}

TEST(TrainingMetrics, ByDefaultThereAreAFew) {
  const std::string path = TempPath("default.jsonl");
  Train(SmallConfig(), {.json_lines = path});
  const Json last = Lines(path).back()["metrics"];
  for (const char* key :
       {"ne-click|window_ne", "auc-click|window_auc", "calibration-click|lifetime_calibration"})
    EXPECT_TRUE(last.contains(key)) << key;
}

// A key of "metrics" that is set leaves the metrics as they are; a list of them is taken as it is.
TEST(TrainingMetrics, TheDefaultsStayBesideOtherKeys) {
  const auto with = [](const std::string& metrics) {
    Json json = Json::parse(ToJson(SmallConfig()));
    json["metrics"] = Json::parse(metrics);
    return ParseTrainConfig(json.dump(), "config");
  };
  RecMetricsConfig want = DefaultTrainingMetrics(SmallConfig());
  want.compute_interval_steps = 4;
  const TrainConfig given = with(R"({"compute_interval_steps": 4})");
  EXPECT_EQ(given.metrics, want);
  EXPECT_EQ(ParseTrainConfig(ToJson(given), "saved").metrics, want);
  const TrainConfig none = with(R"({"compute_interval_steps": 4, "rec_metrics": {}})");
  EXPECT_TRUE(none.metrics->metrics.empty());
  EXPECT_TRUE(ParseTrainConfig(ToJson(none), "saved").metrics->metrics.empty());
}

}  // namespace
}  // namespace tessera
