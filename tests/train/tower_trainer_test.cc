// Two towers from a configuration: what belongs together is found among the candidates of a batch,
// by one process, by pipelines and on ranks, whose candidates are those of all of them and whose
// steps are those of one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"
#include "train/pipeline/trainer_pipeline.h"
#include "train/task_meter.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::TempPath;

// Users of a group, in bags with a second feature, take the items of the group; no labels.
class Pairs final : public DataSource {
 public:
  explicit Pairs(int64_t batches, bool weighted = false, int64_t last_rows = 96)
      : left_(batches), last_rows_(last_rows), weighted_(weighted) {}
  std::optional<Batch> Next() override {
    if (left_-- == 0) return std::nullopt;
    const int64_t rows = left_ == 0 ? last_rows_ : 96;
    Context host({.threads = 1});
    std::vector<int64_t> users, kinds, items, ones(static_cast<size_t>(rows), 1);
    std::vector<float> weights;
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t user = (i * 37 + left_ * 11) % 50;
      users.push_back(user);
      kinds.push_back(user % 3);
      items.push_back(user / 2);
      weights.push_back(static_cast<float>(i % 3));
    }
    std::vector<std::pair<std::string, JaggedTensor>> bags;
    for (const auto& [key, ids] : {std::pair{"cat_0", users}, {"cat_1", kinds}, {"cat_2", items}})
      bags.emplace_back(key, JaggedTensor(Tensor::From(host, ids), Tensor::From(host, ones)));
    Batch batch{.dense = Tensor::Zeros(host, {rows, 0}),
                .features = KeyedJaggedTensor::FromJtDict(host, bags),
                .labels = {}};
    if (weighted_) batch.weights = Tensor::From(host, weights);
    return batch;
  }

 private:
  int64_t left_, last_rows_;
  bool weighted_;
};

constexpr char kConfig[] = R"({
  "tables": [
    {"name": "users", "rows": 50, "dim": 8, "features": ["cat_0"]},
    {"name": "kinds", "rows": 3, "dim": 4, "features": ["cat_1"]},
    {"name": "items", "rows": 25, "dim": 8, "features": ["cat_2"]}],
  "model": {"type": "two_tower", "query": ["cat_0", "cat_1"], "candidate": ["cat_2"],
            "layers": [16, 8], "tasks": [{"loss": "in_batch_softmax"}]},
  "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.1},
                "dense": {"name": "adam", "lr": 0.01}},
  "data": {"format": "planted", "rows": 1000},
  "train": {"batch_size": 96, "seed": 3}})";

TrainConfig Config() { return ParseTrainConfig(kConfig, "towers.json"); }

struct Outcome {
  std::vector<double> losses;
  EvaluationValues evaluation;
  std::string bytes;
};

Outcome Train(int64_t batches, bool weighted = false, PipelineKind kind = PipelineKind::kNone,
              std::optional<TrainingRanks> ranks = {}) {
  const TrainConfig config = Config();
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config, std::move(ranks));
  Pairs source(batches, weighted), eval(3, weighted);
  TrainerPipeline pipeline(trainer, kind);
  const auto steps = pipeline.Over(source, /*scored=*/true);
  Outcome outcome;
  while (const auto trained = steps->Next()) outcome.losses.push_back(trained->loss);
  outcome.evaluation = trainer.Evaluate(eval);
  if (trainer.comm() != nullptr) return outcome;
  trainer.Save(TempPath("towers"));
  outcome.bytes = testing::ReadFile(TempPath("towers"));
  return outcome;
}

TEST(TowerTrainer, FindsWhatBelongsTogether) {
  const Outcome outcome = Train(240);
  EXPECT_LT(outcome.losses.back(), 0.7 * outcome.losses.front());
  const NamedTaskValues& task = outcome.evaluation.tasks.at(0);
  EXPECT_EQ(task.task, "in_batch_softmax");
  EXPECT_EQ(task.values.clicks.examples, 288);
  EXPECT_GT(task.values.recall[1], 0.6);  // by chance: 0.1
  EXPECT_LE(task.values.recall[0], task.values.recall[1]);
  EXPECT_EQ(outcome.evaluation.loss, task.values.softmax);
  EXPECT_NEAR(outcome.evaluation.loss, outcome.losses.back(), 0.3);
  EXPECT_EQ(Train(240, false, PipelineKind::kSparseDist).bytes, outcome.bytes);
}

TEST(TowerTrainer, RanksCompareWithTheCandidatesOfAll) {
  for (const bool weighted : {false, true}) {
    const Outcome alone = Train(8, weighted);
    RunLocalRanks(3, [&](Communicator& comm) {
      const Outcome mine =
          Train(8, weighted, PipelineKind::kNone,
                TrainingRanks{&comm, testing::PlanFor(Config(), 3, "row_wise"), WireCodecs()});
      ASSERT_EQ(mine.losses.size(), alone.losses.size());
      for (size_t i = 0; i < 8; ++i)
        EXPECT_NEAR(mine.losses[i], alone.losses[i], 1e-3 * alone.losses[i]) << i;
      EXPECT_NEAR(mine.evaluation.loss, alone.evaluation.loss, 1e-2);
    });
  }
}

// Rules that scale no gradient, so that weights differ by no more than sums do.
TrainConfig PlainConfig(bool corrected) {
  nlohmann::json json = nlohmann::json::parse(kConfig);
  json["optimizer"] = {{"sparse", {{"name", "sgd"}, {"lr", 3}}},
                       {"dense", {{"name", "sgd"}, {"lr", 0.3}}}};
  if (corrected) {
    json["model"]["temperature"] = 0.2;
    json["model"]["normalize"] = true;
    json["model"]["sampling_correction"] = {{"slots", 64}, {"alpha", 0.1}};
  }
  return ParseTrainConfig(json.dump(), "plain.json");
}

// All numbers, by name, after six batches; the last has fewer rows than there are ranks.
std::map<std::string, std::vector<float>> WeightsAfterSteps(
    const TrainConfig& config, const std::optional<TrainingRanks>& ranks = {}) {
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config, ranks);
  Pairs source(6, /*weighted=*/true, /*last_rows=*/2);
  while (const auto batch = source.Next()) trainer.Step(*batch);
  const std::string path = TempPath(ranks ? "steps_of_ranks" : "steps_of_one");
  trainer.Save(path);
  std::map<std::string, std::vector<float>> weights;
  if (ranks && ranks->comm->rank() != 0) return weights;
  for (const NamedTensor& tensor : testing::TensorsOf(ranks ? testing::Exported(path) : path))
    if (tensor.tensor.dtype() == DType::kF32)
      weights[tensor.name] = tensor.tensor.ToVector<float>();
  return weights;
}

// max |a − b|
float Difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  float most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

TEST(TowerTrainer, RanksMakeTheStepsOfOneProcess) {
  for (const bool corrected : {false, true}) {
    const TrainConfig config = PlainConfig(corrected);
    const auto alone = WeightsAfterSteps(config);
    for (const char* plan : {"row_wise", "table_wise", "data_parallel", "table_row_wise"})
      RunLocalRanks(3, [&](Communicator& comm) {
        const auto together = WeightsAfterSteps(
            config, TrainingRanks{&comm, testing::PlanFor(config, 3, plan), WireCodecs()});
        if (comm.rank() != 0) return;
        ASSERT_EQ(together.size(), alone.size());
        for (const auto& [name, weights] : alone)
          EXPECT_LT(Difference(together.at(name), weights), 5e-6) << name << " " << plan;
      });
  }
}

// A vector added to all candidates changes no choice, so this bias has the gradient 0, and what is
// computed of it is rounding, which rules that divide by it (Adam) make large.
TEST(TowerTrainer, TheLastBiasOfCandidatesHasNoGradient) {
  const TrainConfig config = PlainConfig(/*corrected=*/false);
  Context ctx({.threads = 1, .seed = config.seed});
  const Trainer fresh(ctx, config);
  const auto trained = WeightsAfterSteps(config);
  const auto moved = [&](const std::string& name) {
    for (const NamedParameter& p : fresh.model().Parameters())
      if (p.name == name) return Difference(p.variable.value().ToVector<float>(), trained.at(name));
    throw Error("no parameter " + name);
  };
  EXPECT_LT(moved("candidate_proj._mlp.1._linear.bias"), 1e-6);
  EXPECT_GT(moved("query_proj._mlp.1._linear.bias"), 1e-3);
}

TEST(TowerTrainer, NamesOfParameters) {
  Context ctx({.threads = 1});
  Trainer trainer(ctx, Config());
  std::vector<std::string> names;
  for (const NamedParameter& p : trainer.model().Parameters())
    names.push_back(p.name + ToString(p.variable.shape()));
  EXPECT_EQ(names[0], "query_proj._mlp.0._linear.weight[16, 12]");
  EXPECT_EQ(names[4], "candidate_proj._mlp.0._linear.weight[16, 8]");
}

TEST(TowerTrainer, BadConfigurationsAreRefused) {
  const auto refused = [](auto change) {
    nlohmann::json json = nlohmann::json::parse(kConfig);
    change(json);
    return ErrorOf([&] { ParseTrainConfig(json.dump(), "c"); });
  };
  EXPECT_THAT(refused([](auto& c) { c["train"]["accumulate_steps"] = 2; }),
              HasSubstr("train.accumulate_steps: 2 beside the loss in_batch_softmax of task "
                        "'in_batch_softmax'"));
  EXPECT_THAT(refused([](auto& c) { c["model"]["query"] = {"cat_0"}; }),
              HasSubstr("feature 'cat_1' is read by a table, but neither query nor candidate"));
  EXPECT_THAT(refused([](auto& c) { c["model"]["candidate"] = {"cat_3"}; }),
              HasSubstr("model.candidate: no table reads the feature 'cat_3'"));
  EXPECT_THAT(refused([](auto& c) {
                c["model"] = {{"type", "dlrm"},
                              {"dense_in", 0},
                              {"over_arch", {4, 1}},
                              {"tasks", {{{"loss", "in_batch_softmax"}}}}};
              }),
              HasSubstr("the loss in_batch_softmax is of the type two_tower"));
  const TrainConfig config = Config();
  EXPECT_EQ(ToJson(ParseTrainConfig(ToJson(config), "again")), ToJson(config));
}

// A model that scores all candidates alike finds no more than chance does.
TEST(TowerTrainer, EqualScoresAreFoundByChance) {
  Context ctx({.threads = 1});
  TaskMeter meter(TaskLoss::kInBatchSoftmax);
  const std::vector<float> four(4);
  meter.UpdateChoices(Tensor::Zeros(ctx, {4, 4}),
                      {.predictions = four, .labels = four, .weights = {}, .rows = {0, 1, 2, 3}});
  EXPECT_DOUBLE_EQ(meter.Values().recall[0], 0.25);
  EXPECT_DOUBLE_EQ(meter.Values().recall[1], 1);
  EXPECT_NEAR(meter.Values().softmax, std::log(4), 1e-12);
}

}  // namespace
}  // namespace tessera
