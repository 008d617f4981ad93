// Bags of several ids whose weights are learned by position: trained, in micro-batches and on
// ranks, saved, served, and brought up to date by a delta.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "comm/local_communicator.h"
#include "serve/delta_writer.h"
#include "serve/model_writer.h"
#include "serve/predictor.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::TempPath;

constexpr int64_t kLongest = 4;

TrainConfig Config() {
  TrainConfig config = testing::SmallConfig();
  config.batch_size = 256;
  config.model.position_weights = {{"cat_0", kLongest}, {"cat_2", kLongest}};
  return ParseTrainConfig(ToJson(config), "position_weights_test");
}

// A click where the first id of cat_0 is even: later positions are noise.
Batch Bags(Context& ctx, uint64_t seed, int64_t size = 256) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  std::vector<float> labels(static_cast<size_t>(size));
  std::vector<std::pair<std::string, JaggedTensor>> bags;
  for (const auto& [key, rows] :
       {std::pair<const char*, int64_t>{"cat_0", 60}, {"cat_1", 50}, {"cat_2", 50}, {"cat_9", 3}}) {
    std::vector<int64_t> ids, lengths;
    for (int64_t b = 0; b < size; ++b) {
      lengths.push_back(below(kLongest + 1));
      for (int64_t i = 0; i < lengths.back(); ++i) ids.push_back(below(rows));
      if (std::string(key) == "cat_0" && lengths.back() > 0)
        labels[static_cast<size_t>(b)] =
            ids[ids.size() - static_cast<size_t>(lengths.back())] % 2 == 0 ? 1.0f : 0.0f;
    }
    bags.emplace_back(key, JaggedTensor(Tensor::From(ctx, ids), Tensor::From(ctx, lengths)));
  }
  return {.dense = Tensor::Zeros(ctx, {size, 13}),
          .features = KeyedJaggedTensor::FromJtDict(ctx, bags),
          .labels = Tensor::From(ctx, labels),
          .end_row = size};
}

std::vector<double> Train(Trainer& trainer, int64_t first, int64_t steps, int64_t size = 256) {
  Context host({.threads = 1});
  std::vector<double> losses;
  for (int64_t s = first; s < first + steps; ++s)
    losses.push_back(trainer.Step(Bags(host, static_cast<uint64_t>(s), size)));
  return losses;
}

const Variable& WeightOf(const std::vector<NamedParameter>& parameters,
                         const std::string& feature) {
  for (const NamedParameter& p : parameters)
    if (p.name == kFeatureProcessorsPrefix + ("position_weights." + feature)) return p.variable;
  throw Error("no position weights of " + feature);
}

TEST(PositionWeights, AreTrainedSavedAndServed) {
  const TrainConfig config = Config();
  Context ctx({.threads = 2, .seed = 3});
  Trainer trainer(ctx, config);
  const std::vector<double> losses = Train(trainer, 0, 30);
  EXPECT_LT(losses.back(), losses.front() - 0.05);
  const std::vector<float> learned =
      WeightOf(trainer.model().Parameters(), "cat_0").value().ToVector<float>();
  EXPECT_GT(std::abs(learned[0]), std::abs(learned[3]));

  const std::string file = TempPath("positions.safetensors"), model = TempPath("positions");
  std::filesystem::remove_all(model);
  trainer.Save(file);
  serve::WriteModel(ctx, ReadCheckpoint(file), {}, model, {.codec = ParseRowCodec("f32")});
  serve::Predictor predictor(model);
  const auto same = [&](uint64_t seed, int64_t size) {
    const Batch batch = Bags(ctx, seed, size);
    EXPECT_EQ(predictor.Predict({.dense = batch.dense, .features = batch.features}),
              trainer.Predict(batch).ToVector<float>());
  };
  same(100, 7);
  same(101, 30'000);  // so many ids that they would not be copied without weights

  Train(trainer, 50, 5);
  trainer.Save(file);
  serve::ModelChain chain(model);
  serve::WriteDelta(ctx, ReadCheckpoint(file), {}, chain);
  EXPECT_EQ(predictor.TakeDeltas(), 1);
  same(102, 7);
}

TEST(PositionWeights, ABagThatIsTooLongIsRefusedByName) {
  const TrainConfig config = Config();
  Context ctx({.threads = 1, .seed = 3});
  Trainer trainer(ctx, config);
  const std::string file = TempPath("long.safetensors"), model = TempPath("long");
  std::filesystem::remove_all(model);
  trainer.Save(file);
  serve::WriteModel(ctx, ReadCheckpoint(file), {}, model, {});
  serve::Predictor predictor(model);
  Batch batch = Bags(ctx, 1, 1);
  std::vector<std::pair<std::string, JaggedTensor>> bags;
  for (const std::string& key : batch.features.keys()) {
    const int64_t n = key == "cat_2" ? kLongest + 1 : 1;
    bags.emplace_back(
        key, JaggedTensor(Tensor::Zeros(ctx, {n}, DType::kI64), Tensor::From<int64_t>(ctx, {n})));
  }
  batch.features = KeyedJaggedTensor::FromJtDict(ctx, bags);
  EXPECT_THAT(
      ErrorOf([&] { predictor.Predict({.dense = batch.dense, .features = batch.features}); }),
      HasSubstr("feature cat_2: expected at most 4 ids in a bag"));
  EXPECT_THAT(ErrorOf([&] { trainer.Step(batch); }), HasSubstr("feature cat_2, example 0"));
}

TEST(PositionWeights, MicroBatchesHaveTheBitsOfOneBatch) {
  TrainConfig config = Config();
  std::vector<std::string> files;
  for (const int64_t steps : {1, 3}) {
    config.batch_size = 384 / steps;
    config.accumulate_steps = steps;
    Context ctx({.threads = 1, .seed = 3});
    Trainer trainer(ctx, config);
    Train(trainer, 0, 4, 384);
    const std::string path = TempPath("micro");
    WriteCheckpoint(ctx, path, trainer.State(), trainer.progress(), "");
    files.push_back(testing::ReadFile(path));
  }
  EXPECT_TRUE(files[0] == files[1]);
}

TEST(PositionWeights, RanksAreNearOneProcess) {
  const TrainConfig config = Config();
  Context ctx({.threads = 1, .seed = 3});
  Trainer alone(ctx, config);
  const std::vector<double> losses = Train(alone, 0, 8);
  const Batch probe = Bags(ctx, 9, 64);
  const std::vector<float> scores = alone.Predict(probe).ToVector<float>();
  RunLocalRanks(2, [&](Communicator& comm) {
    Context own({.threads = 1, .seed = 3});
    Trainer trainer(own, config,
                    TrainingRanks{&comm, testing::PlanFor(config, 2, "row_wise"), WireCodecs()});
    const std::vector<double> mine = Train(trainer, 0, 8);
    for (size_t i = 0; i < mine.size(); ++i) EXPECT_NEAR(mine[i], losses[i], 1e-4);
    const std::vector<float> said = trainer.Predict(probe).ToVector<float>();
    for (size_t i = 0; i < said.size(); ++i) EXPECT_NEAR(said[i], scores[i], 1e-3);
  });
}

}  // namespace
}  // namespace tessera
