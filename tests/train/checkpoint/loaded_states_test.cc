// Checkpoints that have states of optimizers or a place in a training, but not both.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "runtime/files/safetensors.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/small_run.h"
#include "train/run/training_run.h"

namespace tessera {
namespace {

using testing::SmallConfig;
using testing::TempPath;

// Optimizers that count steps go on from their states and the step of these together.
TEST(LoadedStates, StatesWithoutProgressAndTheReverseAreNotTaken) {
  for (const auto& [rule, dense] : {std::pair<AnyRule, const char*>(Adam{}, R"({"name": "sgd"})"),
                                    {Sgd{}, R"({"name": "adam"})"}}) {
    TrainConfig config = SmallConfig(dense);
    for (EmbeddingBagConfig& table : config.tables) table.optimizer = rule;
    Context ctx({.threads = 1, .seed = 3});
    Trainer trained(ctx, config);
    const DataSets data(config, {});
    RunTraining(trained, data, {.checkpoint = TempPath("trained")});
    const auto trained_on = [&](const std::function<void(Safetensors&)>& change) {
      Safetensors content = ReadSafetensors(ctx, TempPath("trained"));
      content.metadata.erase("crc32");
      change(content);
      WriteSafetensors(ctx, TempPath("changed"), content);
      Context again({.threads = 1, .seed = 3});
      Trainer trainer(again, config);
      EXPECT_FALSE(trainer.Load(ReadCheckpoint(TempPath("changed"))));
      EXPECT_EQ(trainer.progress().step, 0);
      trainer.Step(*data.OpenTrain(0)->Next());
      trainer.Save(TempPath("on"));
      return testing::ReadFile(TempPath("on"));
    };
    const auto no_progress = [](Safetensors& content) { content.metadata.clear(); };
    const auto no_states = [](Safetensors& content) {
      std::erase_if(content.tensors,
                    [](const auto& t) { return t.first.starts_with(kOptimizerPrefix); });
    };
    const std::string afresh = trained_on([&](Safetensors& content) {
      no_progress(content);
      no_states(content);
    });
    EXPECT_TRUE(trained_on(no_progress) == afresh) << RuleName(rule);
    EXPECT_TRUE(trained_on(no_states) == afresh) << RuleName(rule);
  }
}

// Optimizers that remember nothing go on from the step alone.
TEST(LoadedStates, ProgressAloneIsTakenWhereNothingIsRemembered) {
  TrainConfig config = SmallConfig(R"({"name": "sgd"})");
  for (EmbeddingBagConfig& table : config.tables) table.optimizer = Sgd{};
  Context ctx({.threads = 1, .seed = 3});
  Trainer trained(ctx, config), loaded(ctx, config);
  trained.Step(*DataSets(config, {}).OpenTrain(0)->Next());
  trained.Save(TempPath("sgd"));
  EXPECT_TRUE(loaded.Load(ReadCheckpoint(TempPath("sgd"))));
  EXPECT_EQ(loaded.progress().step, 1);
}

}  // namespace
}  // namespace tessera
