// Weights of examples and several losses in a step: the same result in micro-batches, by pipelines
// and on ranks; a weight of 2 is an example twice, a weight of 0 is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/batch_rows.h"
#include "runtime/ops/loss.h"
#include "runtime/ops/shaping.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"
#include "train/pipeline/trainer_pipeline.h"
#include "train/task_meter.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::TempPath;

// The weight of row n of the batch: 0 to 3.
float WeightOf(int64_t n) { return static_cast<float>(n % 4); }

class Weighted final : public DataSource {
 public:
  explicit Weighted(std::unique_ptr<DataSource> from) : from_(std::move(from)) {}
  std::optional<Batch> Next() override {
    std::optional<Batch> batch = from_->Next();
    if (!batch) return batch;
    batch->weights = Tensor::EmptyHost({batch->size()}, DType::kF32);
    for (int64_t n = 0; n < batch->size(); ++n) batch->weights.span<float>()[n] = WeightOf(n);
    return batch;
  }

 private:
  std::unique_ptr<DataSource> from_;
};

TrainConfig ConfigOf(RankingModelType type) {
  TrainConfig config = testing::SmallConfig();
  config.batch_size = 256;
  for (EmbeddingBagConfig& table : config.tables) table.optimizer = RowwiseAdagrad{0.1f};
  if (type == RankingModelType::kDeepFm)
    config.model = {.type = type, .dense_in = config.model.dense_in, .hidden = 8, .deep_fm_dim = 8};
  return ParseTrainConfig(ToJson(config), "example_weights_test");
}

struct Outcome {
  std::vector<double> losses;
  std::string bytes;  // of a checkpoint
  MetricValues evaluation;
};

Outcome Train(const TrainConfig& config, PipelineKind kind = PipelineKind::kNone,
              std::optional<TrainingRanks> ranks = {}) {
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config, std::move(ranks));
  const DataSets data(config, {});
  Weighted source(data.OpenTrain(0)), eval(data.OpenEval());
  TrainerPipeline pipeline(trainer, kind);
  const auto steps = pipeline.Over(source, /*scored=*/true);
  Outcome outcome;
  while (const auto trained = steps->Next()) {
    EXPECT_EQ(trained->scored[0].weights.shape(), trained->scored[0].labels.shape());
    outcome.losses.push_back(trained->loss);
  }
  outcome.evaluation = trainer.Evaluate(eval);
  if (trainer.comm() != nullptr) return outcome;
  trainer.Save(TempPath("weighted"));
  outcome.bytes = testing::ReadFile(TempPath("weighted"));
  return outcome;
}

class ExampleWeights : public ::testing::TestWithParam<RankingModelType> {};
INSTANTIATE_TEST_SUITE_P(Types, ExampleWeights,
                         ::testing::Values(RankingModelType::kDlrm, RankingModelType::kDeepFm),
                         [](const auto& info) { return ToString(info.param); });

TEST_P(ExampleWeights, PipelinesAndMicroBatchesChangeNoBit) {
  const TrainConfig config = ConfigOf(GetParam());
  const Outcome plain = Train(config);
  ASSERT_GT(plain.losses.size(), 1u);
  for (const PipelineKind kind :
       {PipelineKind::kBase, PipelineKind::kSparseDist, PipelineKind::kPrefetch})
    EXPECT_TRUE(Train(config, kind).bytes == plain.bytes) << ToString(kind);
  TrainConfig cut = config;
  cut.batch_size = 128;
  cut.accumulate_steps = 2;
  EXPECT_EQ(Train(cut).losses, plain.losses);
  EXPECT_EQ(Train(cut).evaluation.log_loss, plain.evaluation.log_loss);
  EXPECT_EQ(Train(cut, PipelineKind::kBase).losses, plain.losses);
}

TEST_P(ExampleWeights, RanksAreNearOneProcess) {
  const TrainConfig config = ConfigOf(GetParam());
  const Outcome alone = Train(config);
  RunLocalRanks(3, [&](Communicator& comm) {
    const Outcome mine =
        Train(config, PipelineKind::kNone,
              TrainingRanks{&comm, testing::PlanFor(config, 3, "row_wise"), WireCodecs()});
    ASSERT_EQ(mine.losses.size(), alone.losses.size());
    for (size_t i = 0; i < mine.losses.size(); ++i)
      EXPECT_NEAR(mine.losses[i], alone.losses[i], 1e-4 * alone.losses[i]);
    EXPECT_NEAR(mine.evaluation.log_loss, alone.evaluation.log_loss, 1e-3);
  });
}

class ExampleWeightsTest : public ::testing::Test {
 protected:
  Batch Rows(int64_t begin, int64_t end) {
    const std::optional<Batch> batch = data_.OpenTrain(0)->Next();
    return RowsOfBatch(ctx_, *batch, begin, end);
  }
  Tensor Weights(const std::vector<float>& weights) { return Tensor::From(ctx_, weights); }

  Context ctx_{{.threads = 1, .seed = 3}};
  const TrainConfig config_ = testing::SmallConfig();
  const DataSets data_{config_, {}};
};

// Sums of whole numbers: the order does not matter.
class OneBatch final : public DataSource {
 public:
  explicit OneBatch(Batch batch) : batch_(std::move(batch)) {}
  std::optional<Batch> Next() override { return std::exchange(batch_, {}); }

 private:
  std::optional<Batch> batch_;
};

TEST_F(ExampleWeightsTest, WeightsCountAsCopiesInLossAndMetrics) {
  Context ctx({.threads = 1, .seed = 3});
  Trainer trainer(ctx, config_), other(ctx_, config_);
  // Rows 0 to 3, with weights 2, 0, 1, 1; and rows 0, 2, 3 where 0 is there twice.
  Batch weighted = Rows(0, 4);
  weighted.labels = Weights({1, 1, 0, 1});
  const Batch first = RowsOfBatch(ctx_, weighted, 0, 1), last = RowsOfBatch(ctx_, weighted, 2, 4);
  weighted.weights = Weights({2, 0, 1, 1});
  Batch copies = weighted;
  copies.weights = {};
  const std::vector<Variable> dense = {first.dense, first.dense, last.dense},
                              labels = {first.labels, first.labels, last.labels};
  copies.dense = Concat(ctx_, dense, 0).value();
  copies.labels = Concat(ctx_, labels, 0).value();
  std::vector<std::pair<std::string, JaggedTensor>> bags;
  for (const std::string& key : first.features.keys()) {
    const JaggedTensor one = first.features.At(ctx_, key), rest = last.features.At(ctx_, key);
    const std::vector<Variable> ids = {one.values(), one.values(), rest.values()},
                                counts = {one.lengths(ctx_), one.lengths(ctx_), rest.lengths(ctx_)};
    bags.emplace_back(key, JaggedTensor(Concat(ctx_, ids, 0), Concat(ctx_, counts, 0).value()));
  }
  copies.features = KeyedJaggedTensor::FromJtDict(ctx_, bags);

  OneBatch by_weight(weighted), by_copies(copies);
  const MetricValues got = trainer.Evaluate(by_weight), expected = other.Evaluate(by_copies);
  EXPECT_NEAR(got.log_loss, expected.log_loss, 1e-12);
  EXPECT_NEAR(got.auc, expected.auc, 1e-12);
  EXPECT_NEAR(got.calibration, expected.calibration, 1e-12);
  EXPECT_NEAR(trainer.Step(weighted), other.Step(copies), 1e-6);
  const Tensor a = trainer.Predict(Rows(0, 8)), b = other.Predict(Rows(0, 8));
  for (int64_t i = 0; i < 8; ++i) EXPECT_NEAR(a.data<float>()[i], b.data<float>()[i], 1e-5);
}

// The loss is a mean over weights: twice the weight of all changes nothing.
TEST_F(ExampleWeightsTest, ALossBesideTheModelsOwnIsPartOfTheStep) {
  Context ctx({.threads = 1, .seed = 3}), plain_ctx({.threads = 1, .seed = 3});
  Trainer twice(ctx, config_), weighted(ctx_, config_), plain(plain_ctx, config_);
  twice.AddLoss({"again", 1.0f, [](Context& on, const Variable& outputs, const Batch& batch) {
                   return BceWithLogits(on, outputs, batch.labels);
                 }});
  for (int step = 0; step < 3; ++step) {
    Batch batch = Rows(0, 64);
    const double loss = twice.Step(batch);
    EXPECT_EQ(twice.losses().at("again"), twice.losses().at("cross_entropy"));
    EXPECT_EQ(loss, 2 * twice.losses().at("again"));
    const double once = plain.Step(batch);
    if (step == 0) {
      EXPECT_EQ(loss, 2 * once);
    }
    batch.weights = Weights(std::vector<float>(64, 2.0f));
    EXPECT_EQ(weighted.Step(batch), once);
  }
  plain.Save(TempPath("plain"));
  weighted.Save(TempPath("weighted"));
  EXPECT_TRUE(testing::ReadFile(TempPath("plain")) == testing::ReadFile(TempPath("weighted")));
  for (const char* name : {"again", "cross_entropy"})
    EXPECT_THAT(ErrorOf([&] {
                  twice.AddLoss({name, 1, [](Context&, const Variable& outputs, const Batch&) {
                                   return outputs;
                                 }});
                }),
                HasSubstr(Format("there is a loss '{}'", name)));
}

// Each of 384 examples once, in three micro-batches, and on ranks.
TEST_F(ExampleWeightsTest, SeveralLossesGoBesideMicroBatchesAndRanks) {
  TrainConfig config = config_;
  config.batch_size = 384;
  const auto losses_of = [&](const TrainConfig& c, std::optional<TrainingRanks> ranks) {
    Context ctx({.threads = 1, .seed = 3});
    Trainer trainer(ctx, c, std::move(ranks));
    trainer.AddLoss({"distance", 0.5f, [](Context& on, const Variable& outputs, const Batch& b) {
                       return Mse(on, outputs, b.labels, b.weights);
                     }});
    Weighted source(DataSets(config, {}).OpenTrain(0));
    std::vector<double> losses;
    while (const std::optional<Batch> batch = source.Next()) {
      losses.push_back(trainer.Step(*batch));
      losses.push_back(trainer.losses().at("distance"));
    }
    return losses;
  };
  const std::vector<double> plain = losses_of(config, {});
  ASSERT_GT(plain.size(), 4u);
  TrainConfig cut = config;
  cut.batch_size = 128;
  cut.accumulate_steps = 3;
  EXPECT_EQ(losses_of(cut, {}), plain);
  RunLocalRanks(2, [&](Communicator& comm) {
    const std::vector<double> mine = losses_of(
        config, TrainingRanks{&comm, testing::PlanFor(config, 2, "table_wise"), WireCodecs()});
    ASSERT_EQ(mine.size(), plain.size());
    for (size_t i = 0; i < mine.size(); ++i) EXPECT_NEAR(mine[i], plain[i], 1e-4 * plain[i]);
  });
}

// Rows that all weigh nothing have no error, not one of 0, which would be the best.
TEST_F(ExampleWeightsTest, NoMetricIsOfRowsWithoutWeight) {
  const std::vector<float> scores = {0.25f, 0.5f}, labels = {1, 0}, none = {0, 0}, some = {0, 2};
  for (const TaskLoss loss : {TaskLoss::kBce, TaskLoss::kMse}) {
    TaskMeter meter(loss);
    meter.Update({scores, labels, none});
    EXPECT_EQ(meter.Values().clicks.examples, 2);
    EXPECT_TRUE(std::isnan(meter.Values().loss(loss))) << ToString(loss);
    EXPECT_TRUE(std::isnan(meter.Values().mae));
    meter.Update({scores, labels, some});
    EXPECT_NEAR(meter.Values().loss(loss), loss == TaskLoss::kMse ? 0.25 : std::log(2), 1e-6);
  }
}

TEST_F(ExampleWeightsTest, WeightsThatAreNoneAreRefused) {
  Trainer trainer(ctx_, config_);
  Batch batch = Rows(0, 2);
  for (const float bad : {-1.0f, std::nanf(""), INFINITY}) {
    batch.weights = Weights({1, bad});
    EXPECT_THAT(ErrorOf([&] { trainer.Step(batch); }), HasSubstr("that is not negative, got"));
  }
  batch.weights = Weights({1});
  EXPECT_THAT(ErrorOf([&] { trainer.Step(batch); }), HasSubstr("weights of examples"));
}

}  // namespace
}  // namespace tessera
