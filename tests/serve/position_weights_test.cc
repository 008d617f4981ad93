// Bags of several ids whose weights are learned by position: trained, in micro-batches and on
// ranks, saved, served, and brought up to date by a delta.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "serve/export/model_writer.h"
#include "serve/predictor.h"
#include "serve/request_queue.h"
#include "tests/serve/testing/bags_of_ids.h"

namespace tessera {
namespace {

using testing::BagsOfIds;
using testing::ErrorOf;
using testing::ExpectServedAsTrained;
using ::testing::HasSubstr;
using testing::TempPath;
using testing::TrainOnBags;

constexpr int64_t kLongest = 4;

TrainConfig Config() {
  TrainConfig config = testing::SmallConfig();
  config.batch_size = 256;
  config.model.position_weights = {{"cat_0", kLongest}, {"cat_2", kLongest}};
  return ParseTrainConfig(ToJson(config), "position_weights_test");
}

// A click where the first id of cat_0 is even: later positions are noise.
const BagsOfIds kBags{.longest = kLongest,
                      .is_click = [](auto ids, auto) { return !ids.empty() && ids[0] % 2 == 0; }};

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
  const std::vector<double> losses = TrainOnBags(trainer, kBags, 0, 30);
  EXPECT_LT(losses.back(), losses.front() - 0.05);
  const std::vector<float> learned =
      WeightOf(trainer.model().Parameters(), "cat_0").value().ToVector<float>();
  EXPECT_GT(std::abs(learned[0]), std::abs(learned[3]));

  ExpectServedAsTrained(ctx, trainer, kBags, "positions");
}

TEST(PositionWeights, ABagThatIsTooLongIsRefusedByName) {
  const TrainConfig config = Config();
  Context ctx({.threads = 1, .seed = 3});
  Trainer trainer(ctx, config);
  const std::string file = TempPath("long.safetensors"), model = TempPath("long");
  std::filesystem::remove_all(model);
  trainer.Save(file);
  serve::WriteModel(ctx, ReadCheckpoint(file), {}, model, {});
  serve::Predictor predictor(model, {.warm_up = {.requests = 2, .max_batch = 70, .calls = 2}});
  Batch batch = kBags(ctx, 1, 1);
  std::vector<std::pair<std::string, JaggedTensor>> bags;
  for (const std::string& key : batch.features.keys()) {
    const int64_t n = key == "cat_2" ? kLongest + 1 : 1;
    bags.emplace_back(
        key, JaggedTensor(Tensor::Zeros(ctx, {n}, DType::kI64), Tensor::From<int64_t>(ctx, {n})));
  }
  batch.features = KeyedJaggedTensor::FromJtDict(ctx, bags);
  const char* const wrong =
      "feature cat_2, example 0: expected at most 4 ids, as many as the model has positions, got 5";
  EXPECT_EQ(ErrorOf([&] { predictor.Predict({.dense = batch.dense, .features = batch.features}); }),
            wrong);
  const Batch good = kBags(ctx, 1, 1);
  const std::vector<float> alone =
      predictor.Predict({.dense = good.dense, .features = good.features});
  serve::RequestQueue queue(predictor, {.max_wait = std::chrono::milliseconds(200)});
  auto bad = queue.Submit({.dense = batch.dense, .features = batch.features}),
       beside = queue.Submit({.dense = good.dense, .features = good.features});
  EXPECT_EQ(beside.get().scores, alone);
  EXPECT_EQ(ErrorOf([&] { bad.get(); }), wrong);
  EXPECT_THAT(ErrorOf([&] { trainer.Step(batch); }), HasSubstr("feature cat_2, example 0"));
}

TEST(PositionWeights, MicroBatchesHaveTheBitsOfOneBatch) {
  testing::ExpectSameInMicroBatches(Config(), kBags);
}

TEST(PositionWeights, RanksAreNearOneProcess) { testing::ExpectNearOnRanks(Config(), kBags); }

}  // namespace
}  // namespace tessera
