// Sequences pooled by attention: trained, in micro-batches, on ranks and in pipelines, saved,
// served, and brought up to date by a delta.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "serve/export/model_writer.h"
#include "serve/predictor.h"
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

TrainConfig Config(bool weighted = false) {
  TrainConfig config = testing::SmallConfig();
  config.batch_size = 256;
  config.model.weighted = weighted;
  config.model.attention = {
      {.sequence = "cat_0", .target = "cat_9", .max_length = kLongest, .layers = {8}},
      {.sequence = "cat_2", .target = "cat_1", .max_length = kLongest, .layers = {6, 5}}};
  return ParseTrainConfig(ToJson(config), "attention_test");
}

// A click where the first id of cat_0 is even.
BagsOfIds Bags(bool weighted = false) {
  return {.longest = kLongest, .weighted = weighted, .is_click = [](auto ids, auto) {
            return !ids.empty() && ids[0] % 2 == 0;
          }};
}

TEST(Attention, IsTrainedSavedAndServed) {
  for (const bool weighted : {false, true}) {
    const TrainConfig config = Config(weighted);
    const BagsOfIds bags = Bags(weighted);
    Context ctx({.threads = 2, .seed = 3});
    Trainer trainer(ctx, config);
    const std::vector<double> losses = TrainOnBags(trainer, bags, 0, 50);
    EXPECT_LT(losses.back(), losses.front() - 0.05);

    ExpectServedAsTrained(ctx, trainer, bags, "attention");
  }
}

TEST(Attention, ABagThatIsTooLongIsRefusedByName) {
  Context ctx({.threads = 1, .seed = 3});
  Trainer trainer(ctx, Config());
  const std::string file = TempPath("long.safetensors"), model = TempPath("long");
  std::filesystem::remove_all(model);
  trainer.Save(file);
  serve::WriteModel(ctx, ReadCheckpoint(file), {}, model, {});
  serve::Predictor predictor(model, {.warm_up = {.requests = 2, .max_batch = 70, .calls = 2}});
  BagsOfIds longer = Bags();
  longer.longest = 2 * kLongest;
  const Batch batch = longer(ctx, 1, 64);
  EXPECT_THAT(
      ErrorOf([&] { predictor.Predict({.dense = batch.dense, .features = batch.features}); }),
      HasSubstr(": expected at most 4 ids, as many as the model has positions, got "));
  EXPECT_THAT(ErrorOf([&] { trainer.Step(batch); }),
              HasSubstr("feature cat_0: expected at most 4 ids in a bag"));
}

TEST(Attention, MicroBatchesHaveTheBitsOfOneBatch) {
  testing::ExpectSameInMicroBatches(Config(), Bags());
}

TEST(Attention, RanksAreNearOneProcess) { testing::ExpectNearOnRanks(Config(), Bags()); }

}  // namespace
}  // namespace tessera
