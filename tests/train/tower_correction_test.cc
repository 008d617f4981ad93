// Two towers whose softmax is corrected by how often candidates come: what that does for recall on
// skewed data, and that it has the same bits in every way of training, and after a resume.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/ops/arithmetic.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"
#include "train/catalogue.h"
#include "train/pipeline/trainer_pipeline.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::TempPath;

constexpr int64_t kUsers = 64, kItems = 256, kGroups = 4, kRows = 128;

constexpr char kConfig[] = R"({
  "tables": [
    {"name": "users", "rows": 64, "dim": 16, "features": ["user"]},
    {"name": "items", "rows": 256, "dim": 16, "features": ["item"]}],
  "model": {"type": "two_tower", "query": ["user"], "candidate": ["item"], "layers": [32],
            "temperature": 0.1, "normalize": true,
            "sampling_correction": {"slots": 4096, "alpha": 0.05},
            "tasks": [{"loss": "in_batch_softmax"}]},
  "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.1},
                "dense": {"name": "adam", "lr": 0.005}},
  "data": {"format": "jsonl"},
  "train": {"batch_size": 128, "seed": 3}})";

TrainConfig Config(bool corrected = true) {
  nlohmann::json json = nlohmann::json::parse(kConfig);
  if (!corrected) json["model"].erase("sampling_correction");
  return ParseTrainConfig(json.dump(), "towers.json");
}

// A user of group g takes the items of the group, i mod kGroups = g, four times as often as others;
// among both, item i as often as 1/(1 + i) says. Batch b is the same whenever it is asked for.
class Skewed final : public DataSource {
 public:
  Skewed(int64_t begin, int64_t end) : next_(begin), end_(end) {
    for (int64_t g = 0; g < kGroups; ++g) {
      std::vector<double> shares;
      for (int64_t i = 0; i < kItems; ++i)
        shares.push_back((i % kGroups == g ? 4.0 : 1.0) / static_cast<double>(1 + i));
      items_.emplace_back(shares.begin(), shares.end());
    }
  }
  std::optional<Batch> Next() override {
    if (next_ == end_) return std::nullopt;
    std::mt19937_64 random(static_cast<uint64_t>(next_++));
    Context host({.threads = 1});
    std::vector<int64_t> ids, items;
    for (int64_t i = 0; i < kRows; ++i) {
      ids.push_back(static_cast<int64_t>(random() % kUsers));
      items.push_back(items_[static_cast<size_t>(ids.back() % kGroups)](random));
    }
    ids.insert(ids.end(), items.begin(), items.end());
    return Batch{.dense = Tensor::Zeros(host, {kRows, 0}),
                 .features = KeyedJaggedTensor::FromLengthsSync(
                     {"user", "item"}, Tensor::From(host, ids),
                     Tensor::Full(host, {2 * kRows}, 1, DType::kI64)),
                 .labels = {},
                 .end_row = next_ * kRows};
  }

 private:
  int64_t next_, end_;
  std::vector<std::discrete_distribution<int64_t>> items_;
};

struct Way {
  int threads = 1;
  PipelineKind pipeline = PipelineKind::kNone;
  std::optional<TrainingRanks> ranks = {};
};

// Trains batches [begin, end), from the checkpoint `from` and to `to`, where they are given.
std::vector<double> Train(const TrainConfig& config, int64_t begin, int64_t end,
                          const std::string& to, const std::string& from = "", Way way = {}) {
  Context ctx({.threads = way.threads, .seed = config.seed});
  Trainer trainer(ctx, config, std::move(way.ranks));
  if (!from.empty() && trainer.comm() == nullptr) trainer.Load(ReadCheckpoint(from));
  if (!from.empty() && trainer.comm() != nullptr) {
    ShardedCheckpoint saved(from);
    trainer.Load(saved);
  }
  Skewed source(begin, end);
  TrainerPipeline pipeline(trainer, way.pipeline);
  std::vector<double> losses;
  for (const auto steps = pipeline.Over(source, false); const auto trained = steps->Next();)
    losses.push_back(trained->loss);
  trainer.Save(TempPath(to));
  return losses;
}

std::string BytesOf(const std::string& name) { return testing::ReadFile(TempPath(name)); }

// The share of rows whose item is among the ten of the highest score.
double Recall(bool corrected) {
  const TrainConfig config = Config(corrected);
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config);
  Skewed source(0, 500), unseen(1000, 1010);
  while (const auto batch = source.Next()) trainer.Step(*batch);
  Catalogue catalogue(trainer);
  int64_t found = 0, rows = 0;
  while (const auto batch = unseen.Next()) {
    const Tensor scores = catalogue.Scores(*batch);
    const auto ids = batch->features.values().span<int64_t>();
    for (int64_t row = 0; row < kRows; ++row, ++rows) {
      const auto of_row = scores.span<float>().subspan(static_cast<size_t>(row * kItems), kItems);
      const float own = of_row[static_cast<size_t>(ids[static_cast<size_t>(kRows + row)])];
      found += std::ranges::count_if(of_row, [&](float score) { return score > own; }) < 10;
    }
  }
  return static_cast<double>(found) / static_cast<double>(rows);
}

TEST(TowerCorrection, RaisesRecallOfSkewedItems) {
  const double plain = Recall(false), corrected = Recall(true);
  RecordProperty("recall_at_10", Format("{:.3f} without, {:.3f} with", plain, corrected));
  EXPECT_GT(corrected, plain + 0.1) << plain;
  EXPECT_GT(corrected, 0.4);
}

TEST(TowerCorrection, EveryWayHasTheSameBits) {
  const TrainConfig config = Config();
  const std::vector<double> losses = Train(config, 0, 12, "alone");
  EXPECT_EQ(Train(config, 0, 12, "threads", "", {.threads = 3}), losses);
  EXPECT_EQ(BytesOf("threads"), BytesOf("alone"));
  for (const PipelineKind kind :
       {PipelineKind::kBase, PipelineKind::kSparseDist, PipelineKind::kPrefetch}) {
    EXPECT_EQ(Train(config, 0, 12, "pipeline", "", {.pipeline = kind}), losses);
    EXPECT_EQ(BytesOf("pipeline"), BytesOf("alone")) << static_cast<int>(kind);
  }
}

TEST(TowerCorrection, ResumeGoesOnWithTheSameBits) {
  const TrainConfig config = Config();
  Train(config, 0, 12, "whole");
  Train(config, 0, 5, "half");
  Train(config, 5, 12, "resumed", TempPath("half"));
  EXPECT_EQ(BytesOf("resumed"), BytesOf("whole"));
  Context ctx({.threads = 1});
  Trainer plain(ctx, Config(false));
  EXPECT_THAT(ErrorOf([&] { plain.Load(ReadCheckpoint(TempPath("half"))); }),
              HasSubstr("__item_frequencies"));
  Train(Config(false), 0, 2, "plain");
  Trainer corrected(ctx, config);
  EXPECT_THAT(ErrorOf([&] { corrected.Load(ReadCheckpoint(TempPath("plain"))); }),
              HasSubstr("it lacks 'optimizer.__item_frequencies.*', which this model has"));
}

TEST(TowerCorrection, RanksCountTheItemsOfAll) {
  const TrainConfig config = Config();
  const std::vector<double> alone = Train(config, 0, 8, "one");
  RunLocalRanks(3, [&](Communicator& comm) {
    const Way way{.ranks = TrainingRanks{&comm, testing::PlanFor(config, 3, "row_wise"), {}}};
    const std::vector<double> losses = Train(config, 0, 8, "ranks", "", way);
    Train(config, 0, 4, "ranks_half", "", way);
    const std::vector<double> rest =
        Train(config, 4, 8, "ranks_resumed", TempPath("ranks_half"), way);
    for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(losses[i], alone[i], 1e-4) << i;
    EXPECT_EQ(rest, std::vector(losses.begin() + 4, losses.end()));
  });
}

// A batch whose loss is not a number teaches nothing of its items.
TEST(TowerCorrection, AFailedStepCountsNoItems) {
  const auto last_loss = [](bool fails) {
    const TrainConfig config = Config();
    Context ctx({.threads = 1, .seed = 3});
    Trainer trainer(ctx, config);
    float more = 0;
    trainer.AddLoss(
        {.name = "more", .mean = [&](Context& on, const Variable& outputs, const Batch&) {
           return Scale(on, Sum(on, outputs), more);
         }});
    Skewed source(0, 3), unseen(7, 8);
    trainer.Step(*source.Next());
    more = NAN;
    if (fails) {
      EXPECT_THROW(trainer.Step(*unseen.Next()), Error);
    }
    more = 0;
    trainer.Step(*source.Next());
    return trainer.Step(*source.Next());
  };
  EXPECT_EQ(last_loss(true), last_loss(false));
}

TEST(TowerCorrection, ConfigurationsThatDoNotFitAreRefused) {
  const auto refused = [](auto change) {
    nlohmann::json json = nlohmann::json::parse(kConfig);
    change(json["model"]);
    return ErrorOf([&] { ParseTrainConfig(json.dump(), "c"); });
  };
  EXPECT_THAT(refused([](auto& m) { m["temperature"] = 0; }),
              HasSubstr("model.temperature: expected a number above 0, got 0"));
  EXPECT_THAT(refused([](auto& m) { m["sampling_correction"] = true; }),
              HasSubstr("model.sampling_correction: expected"));
  EXPECT_THAT(refused([](auto& m) { m["sampling_correction"]["alpha"] = 0; }),
              HasSubstr("model.sampling_correction.alpha: expected a number above 0, up to 1"));
  EXPECT_THAT(refused([](auto& m) { m["sampling_correction"]["slots"] = 0; }),
              HasSubstr("model.sampling_correction.slots: expected"));
  EXPECT_THAT(refused([](auto& m) {
                m["tasks"] = {{{"label", "click"}}};
              }),
              HasSubstr("sampling_correction beside tasks none of which has the loss "
                        "in_batch_softmax"));
  EXPECT_EQ(ToJson(ParseTrainConfig(ToJson(Config()), "again")), ToJson(Config()));
}

}  // namespace
}  // namespace tessera
