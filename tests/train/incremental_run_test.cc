// A run that saves deltas, stops anywhere, and goes on from the folder: each chain is the whole
// checkpoint of its step, byte for byte, and the end is that of a run that never stopped.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "tests/train/testing/files.h"
#include "tests/train/testing/small_run.h"
#include "train/checkpoint/checkpoint_chain.h"
#include "train/run/training_run.h"

namespace tessera {
namespace {

using testing::ReadFile;
using testing::SmallConfig;
using testing::TempPath;

constexpr int64_t kSteps = 32;

struct Case {
  std::string name;
  AnyRule rule;
  DType rows = DType::kF32, states = DType::kF32;
  bool cached = false;
};

TrainConfig ConfigOf(const Case& c) {
  TrainConfig config = SmallConfig();
  for (EmbeddingBagConfig& table : config.tables) {
    table.num_embeddings *= 8;  // most rows are not touched between saves
    table.optimizer = c.rule;
    table.data_type = c.rows;
    table.state_type = c.states;
    table.stochastic_rounding = c.rows != DType::kF32;
    if (!c.cached) continue;
    table.location = EmbeddingLocation::kManagedCaching;
    table.cache.load_factor = 0.3;
  }
  return config;
}

class IncrementalRun : public ::testing::TestWithParam<Case> {
 protected:
  IncrementalRun() { std::filesystem::remove_all(folder_); }
  std::string folder_ = TempPath("run");
};

INSTANTIATE_TEST_SUITE_P(
    Rules, IncrementalRun,
    ::testing::Values(
        Case{"Adam", Adam{0.01f}}, Case{"RowwiseAdagradOfF16", RowwiseAdagrad{0.1f}, DType::kF16},
        Case{"PartialRowwiseAdamOfBf16", PartialRowwiseAdam{0.01f}, DType::kBF16, DType::kBF16},
        Case{"SgdBehindACache", Sgd{0.1f}, DType::kF32, DType::kF32, true}, Case{"Dense", Dense{}},
        Case{"CountersBehindACache", CounterRowwiseAdagrad{.lr = 0.1f}, DType::kF32, DType::kF32,
             true},
        Case{"Sweeping", EnsembleRowwiseAdagrad{.lr = 0.1f, .step_ema = 5}}),
    [](const auto& info) { return info.param.name; });

TEST_P(IncrementalRun, StoppedAnywhereEndsAsOneThatNeverStopped) {
  const TrainConfig config = ConfigOf(GetParam());
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer whole(ctx, config);
  RunTraining(whole, DataSets(config, {}));
  whole.Save(TempPath("end"));

  std::mt19937 random(static_cast<unsigned>(GetParam().name.size()));
  for (int64_t stop = 0; stop < kSteps;) {
    stop += 1 + random() % 12;
    const bool resumes = std::filesystem::exists(folder_);
    Context on({.threads = 2, .seed = resumes ? 99 : config.seed});
    Trainer trainer(on, config);
    TrainingRunOptions options{.checkpoint = folder_};
    options.checkpoint_every = 2 + random() % 4;
    options.incremental = {.max_deltas = 6, .max_delta_share = 2};
    options.stop = [&] { return trainer.progress().step >= stop; };
    if (resumes) {
      const Checkpoint chain = ReadCheckpoint(folder_);
      ASSERT_TRUE(trainer.Load(chain));
      options.resumed = chain.chain;
    }
    RunTraining(trainer, DataSets(config, {}), options);
    trainer.Save(TempPath("resumed"));
    WriteWhole(ReadCheckpoint(folder_), TempPath("joined"));
    ASSERT_EQ(ReadFile(TempPath("joined")), ReadFile(TempPath("resumed"))) << "stopped at " << stop;
  }
  EXPECT_EQ(ReadFile(CompactChain(folder_)), ReadFile(TempPath("end")));
}

}  // namespace
}  // namespace tessera
