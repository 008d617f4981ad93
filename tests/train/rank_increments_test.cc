// Ranks that save what changed, stop anywhere, and go on from the folder: each save is the whole
// checkpoint of its step, byte for byte, and the end is that of ranks that never stopped. After
// kills, with missing or mixed files, the last save that counts is read, or there is an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "tests/testing/losing_communicator.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/checkpoint/rank_chain.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::ReadFile;
using testing::TempPath;

constexpr int64_t kSteps = 32;

struct Case {
  std::string name;
  int ranks;
  std::string plan;  // as --plan, or "mixed"
  AnyRule rule;
  EmbeddingLocation location = EmbeddingLocation::kDevice;
  int64_t num_parts = 0;  // above 0: of tables whose raw ids get rows as they come
};

TrainConfig ConfigOf(const Case& c) {
  TrainConfig config = testing::SmallConfig();
  for (EmbeddingBagConfig& table : config.tables) {
    table.num_embeddings *= 8;  // most rows are not touched between saves
    table.optimizer = c.rule;
    table.location = c.location;
    table.cache.load_factor = 0.3;
    if (c.num_parts > 0 && table.name != "c")
      config.managed_collision[table.name] = {GrowingIndexOptions{}, c.num_parts};
  }
  return config;
}

ShardingPlan PlanOf(const Case& c, const TrainConfig& config) {
  return c.plan == "mixed" ? testing::MixedPlan(config, c.ranks)
                           : testing::PlanFor(config, c.ranks, c.plan);
}

struct Sitting {
  int64_t stop = 1 << 20, every = 3;
  IncrementalOptions incremental = {.max_deltas = 6, .max_delta_share = 2};
  std::string folder, whole = {};  // incremental ones; the last step's, saved whole
};

// Trains; goes on from the folder if there is something.
void TrainRank(Communicator& comm, const TrainConfig& config, const ShardingPlan& plan,
               const Sitting& run) {
  const bool resumes = !SavesOfRanks(run.folder).empty();
  comm.GatherStringsSync("", "all have looked");
  Context ctx({.threads = 1, .seed = resumes ? 99 : config.seed});
  Trainer trainer(ctx, config, TrainingRanks{&comm, plan, {}});
  TrainingRunOptions options{.checkpoint = run.folder, .checkpoint_every = run.every};
  options.incremental = run.incremental;
  options.stop = [&] { return trainer.progress().step >= run.stop; };
  if (resumes) {
    ShardedCheckpoint saved = OpenFolderOfRanks(run.folder);
    ASSERT_TRUE(trainer.Load(saved));
    options.resumed_of_ranks = run.folder;
  }
  RunTraining(trainer, DataSets(config, {}), options);
  if (!run.whole.empty()) trainer.Save(run.whole);
}

void Train(const TrainConfig& config, const ShardingPlan& plan, const Sitting& run) {
  RunLocalRanks(plan.world_size, [&](Communicator& comm) { TrainRank(comm, config, plan, run); });
}

// The checkpoint joined into one file.
std::string Joined(const std::string& folder) {
  const std::string path = folder + ".joined";
  WriteWhole(ReadCheckpoint(folder), path);
  return ReadFile(path);
}

class RankIncrements : public ::testing::TestWithParam<Case> {
 protected:
  RankIncrements() {
    fs::remove_all(folder_);
    fs::remove_all(whole_);
  }
  std::string folder_ = TempPath("increments"), whole_ = TempPath("whole_of_ranks");
};

INSTANTIATE_TEST_SUITE_P(
    Plans, RankIncrements,
    ::testing::Values(
        Case{"Rows", 2, "row_wise", Adam{0.01f}},
        Case{"ColumnsWithStatistics", 2, "column_wise", RowwiseAdagrad{0.1f}},
        Case{"Replicas", 3, "data_parallel", Adagrad{0.1f}},
        Case{"MixedBehindCaches", 4, "mixed", RowwiseAdagrad{0.1f},
             EmbeddingLocation::kManagedCaching},
        Case{"GrowingRawIds", 2, "row_wise", RowwiseAdagrad{0.1f}, EmbeddingLocation::kDevice, 4},
        Case{"RanksWithoutTables", 4, "table_wise", Sgd{0.1f}},
        Case{"Sweeping", 2, "row_wise", EnsembleRowwiseAdagrad{.lr = 0.1f, .step_ema = 5}}),
    [](const auto& info) { return info.param.name; });

TEST_P(RankIncrements, StoppedAnywhereEndAsThoseThatNeverStopped) {
  const TrainConfig config = ConfigOf(GetParam());
  const ShardingPlan plan = PlanOf(GetParam(), config);
  std::mt19937 random(static_cast<unsigned>(GetParam().name.size()));
  int64_t deltas = 0;
  for (int64_t stop = 0; stop < kSteps;) {
    stop += 1 + random() % 12;
    Train(config, plan,
          {.stop = stop,
           .every = 2 + static_cast<int64_t>(random() % 4),
           .folder = folder_,
           .whole = whole_});
    deltas += PositionOfRanks(folder_).deltas;
    ASSERT_TRUE(Joined(folder_) == Joined(whole_)) << "other bits, stopped at " << stop;
  }
  EXPECT_GT(deltas, 0);
  CompactRankChain(folder_);
  EXPECT_EQ(PositionOfRanks(folder_).deltas, 0);
  const std::string end = TempPath("end_of_ranks");
  fs::remove_all(end);
  Train(config, plan, {.incremental = {.max_deltas = 0}, .folder = end});
  EXPECT_TRUE(Joined(folder_) == Joined(end)) << "other bits";
}

class RankIncrementsTest : public ::testing::Test {
 protected:
  RankIncrementsTest() { fs::remove_all(folder_); }

  const Case case_{"", 2, "row_wise", RowwiseAdagrad{0.1f}};
  const TrainConfig config_ = ConfigOf(case_);
  const ShardingPlan plan_ = PlanOf(case_, config_);
  std::string folder_ = TempPath("few_increments");
};

TEST_F(RankIncrementsTest, AnotherPlanBeginsWithABase) {
  Train(config_, plan_, {.stop = 7, .folder = folder_});
  EXPECT_EQ(RanksIn(folder_).size(), 2u);
  const ShardingPlan other = testing::PlanFor(config_, 4, "column_wise");
  Train(config_, other, {.stop = 8, .every = 1, .folder = folder_});
  EXPECT_EQ(PositionOfRanks(folder_).deltas, 1);  // the end's
  EXPECT_EQ(OpenRankChain(folder_).info().plan, other);
  Train(config_, plan_, {.stop = 9, .every = 0, .folder = folder_});
  EXPECT_EQ(PositionOfRanks(folder_).deltas, 0);
  EXPECT_EQ(RanksIn(folder_).size(), 2u);
  EXPECT_EQ(SavesOfRanks(folder_).size(), 1u);
}

TEST_F(RankIncrementsTest, EarlierChainsStayWhereTheyAreKept) {
  const Sitting run{.stop = 30,
                    .every = 1,
                    .incremental = {.max_deltas = 2, .max_delta_share = 9, .keep = 1},
                    .folder = folder_};
  Train(config_, plan_, run);
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_EQ(ListChains(RankFolder(folder_, rank)).size(), 2u) << rank;
  const int64_t first = ListChains(RankFolder(folder_, 0))[0].base;
  EXPECT_EQ(SavesOfRanks(folder_)[0], first);
  CompactRankChain(folder_);
  EXPECT_EQ(SavesOfRanks(folder_).size(), 1u);
  EXPECT_THAT(ErrorOf([&] { CompactRankChain(folder_, -1); }), HasSubstr("chains to keep"));
}

TEST_F(RankIncrementsTest, WhatIsMissingMixedOrChangedIsAnError) {
  const IncrementalOptions all = {.max_deltas = 99, .max_delta_share = 99};
  Train(config_, plan_, {.stop = 6, .every = 2, .incremental = all, .folder = folder_});
  const int64_t last = SavesOfRanks(folder_).back();
  const std::string file = DeltaPath(RankFolder(folder_, 1), last), hidden = file + ".hidden";
  const std::string held = ReadFile(file);
  fs::rename(file, hidden);
  EXPECT_THAT(ErrorOf([&] { ReadCheckpoint(folder_); }), HasSubstr(file + ": it is missing"));
  fs::rename(hidden, file);

  fs::rename(RankFolder(folder_, 1), folder_ + "_rank_1");
  EXPECT_THAT(ErrorOf([&] { ReadCheckpoint(folder_); }),
              HasSubstr(RankFolder(folder_, 1) + ": it is missing; expected a folder with file"));
  fs::rename(folder_ + "_rank_1", RankFolder(folder_, 1));

  // This file has the same number, but belongs to another run.
  TrainConfig other = config_;
  other.seed = 77;
  const std::string theirs = TempPath("increments_of_others");
  fs::remove_all(theirs);
  Train(other, plan_, {.stop = 6, .every = 2, .incremental = all, .folder = theirs});
  fs::remove_all(RankFolder(folder_, 1));
  fs::copy(RankFolder(theirs, 1), RankFolder(folder_, 1));
  EXPECT_THAT(ErrorOf([&] { ReadCheckpoint(folder_); }), HasSubstr("mixed up from two runs"));

  const std::string save = RanksPath(folder_, last);
  std::string text = ReadFile(save);
  text.replace(text.find("\"step\": \"6\""), 11, "\"step\": \"7\"");
  std::ofstream(save) << text;
  EXPECT_THAT(ErrorOf([&] { ReadCheckpoint(folder_); }), HasSubstr(save));
}

TEST_F(RankIncrementsTest, OneIsOpenedWhileABaseTakesItsPlace) {
  const IncrementalOptions often = {.max_deltas = 1, .max_delta_share = 9};
  Train(config_, plan_, {.stop = 1, .every = 1, .incremental = often, .folder = folder_});
  std::atomic<bool> ends = false;
  std::thread trainer([&] {
    Train(config_, plan_, {.stop = kSteps, .every = 1, .incremental = often, .folder = folder_});
    ends = true;
  });
  int opened = 0;
  std::string error;
  while (!ends && error.empty()) {
    error = ErrorOf([&] { OpenRankChain(folder_); });
    ++opened;
  }
  trainer.join();
  EXPECT_EQ(error, "") << opened << " were opened before";
}

// Its first rank may have committed the save already.
TEST_F(RankIncrementsTest, ARankThatLosesAnotherWhileSavingKeepsItsPart) {
  const Sitting run{.stop = 6, .every = 2, .folder = folder_};
  const auto train = [&] {
    RunLocalRanks(2, [&](Communicator& comm) {
      const std::string part = DeltaPath(RankFolder(folder_, comm.rank()), 2);
      testing::LosingCommunicator losing(comm,
                                         testing::LosesInSave(comm, part, RanksPath(folder_, 2)));
      TrainRank(losing, config_, plan_, run);
    });
  };
  EXPECT_THAT(ErrorOf(train), HasSubstr("a rank is lost"));
  ASSERT_EQ(SavesOfRanks(folder_).back(), 2);
  EXPECT_EQ(OpenRankChain(folder_).info().metadata.at("step"), "4");
  const std::string saved = Joined(folder_), end = TempPath("nothing_lost");
  fs::remove_all(end);
  Train(config_, plan_, {.stop = 4, .every = 2, .folder = end});
  EXPECT_TRUE(saved == Joined(end)) << "other bits";
  Train(config_, plan_, {.stop = 8, .every = 2, .folder = folder_});
  Train(config_, plan_, {.stop = 8, .every = 2, .folder = end});
  EXPECT_TRUE(Joined(folder_) == Joined(end)) << "other bits";
}

TEST_F(RankIncrementsTest, AFolderOfSomethingElseIsRefused) {
  fs::create_directories(folder_);
  std::ofstream(folder_ + "/notes") << "x";
  EXPECT_THAT(ErrorOf([&] { Train(config_, plan_, {.stop = 1, .folder = folder_}); }),
              HasSubstr("something else than checkpoints of ranks"));
}

// The ranks are threads of a process that is killed; 4 kills, or 40 where TESSERA_TEST_ALL is set.
TEST_F(RankIncrementsTest, KilledAnywhereEndAsThoseThatWereNeverKilled) {
  const int kills = std::getenv("TESSERA_TEST_ALL") != nullptr ? 40 : 4;
  TrainConfig config = config_;
  config.epochs = kills;
  const Sitting run{.every = 1, .folder = folder_};
  const auto in_child = [&] {
    const pid_t child = fork();
    if (child != 0) return child;
    Train(config, plan_, run);
    _exit(0);
  };
  const auto newest = [&] {
    const std::vector<int64_t> saves = SavesOfRanks(folder_);
    return saves.empty() ? 0 : saves.back();
  };
  std::mt19937 random(5);
  for (int n = 0; n < kills; ++n) {
    const pid_t child = in_child();
    const int64_t until = newest() + 1 + random() % 6;
    while (newest() < until && waitpid(child, nullptr, WNOHANG) == 0) usleep(200);
    usleep(random() % 4000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  int status = 0;
  waitpid(in_child(), &status, 0);
  EXPECT_EQ(status, 0);
  const std::string end = TempPath("never_killed");
  fs::remove_all(end);
  Train(config, plan_, {.every = 0, .folder = end});
  EXPECT_TRUE(Joined(folder_) == Joined(end)) << "other bits";
}

}  // namespace
}  // namespace tessera
