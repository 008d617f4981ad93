// Kill −9 while tables are trained, some of them on disk and some from raw ids, while checkpoints
// are written and while chains are compacted: the run goes on from its files, and the end has the
// bits of the run that was never killed. 5 kills, or 50 where TESSERA_TEST_ALL is set.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "tests/train/testing/files.h"
#include "tests/train/testing/small_run.h"
#include "train/checkpoint/checkpoint_chain.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/run/training_run.h"

namespace tessera {
namespace {

using testing::ReadFile;
using testing::TempPath;

constexpr int64_t kStepsOfAnEpoch = 16;

TrainConfig ConfigOf(int64_t epochs, EmbeddingLocation location) {
  TrainConfig config = testing::SmallConfig();
  for (EmbeddingBagConfig& table : config.tables) table.num_embeddings = 2000;
  config.tables[0].location = location;
  config.tables[0].cache.load_factor = 0.1;
  config.tables[1].num_embeddings = 60;  // of up to 100 ids: rows change hands
  config.managed_collision[config.tables[1].name] = {GrowingIndexOptions{}};
  config.epochs = epochs;
  return config;
}

class KillRun : public ::testing::Test {
 protected:
  KillRun() { std::filesystem::remove_all(folder_); }

  // Goes on from the folder, or begins if it is empty, until the last epoch is done.
  void Train(const TrainConfig& config) const {
    const bool resumes = IsCheckpointFolder(folder_);
    Context ctx({.threads = 2, .seed = resumes ? 99 : config.seed});
    Trainer trainer(ctx, config);
    TrainingRunOptions options{.checkpoint = folder_, .checkpoint_every = 4};
    options.incremental = {.max_deltas = 4, .max_delta_share = 9};
    if (resumes) {
      const Checkpoint chain = ReadCheckpoint(folder_);
      trainer.Load(chain);
      options.resumed = chain.chain;
    }
    RunTraining(trainer, DataSets(config, {}), options);
  }

  // Runs fn() in a process of its own, which has no threads before.
  template <typename Fn>
  static pid_t InChild(Fn&& fn) {
    const pid_t child = fork();
    if (child != 0) return child;
    try {
      fn();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
    _exit(0);
  }
  // The signal that ended the process; 0 if it ended by itself.
  static int SignalOf(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  static bool Ended(pid_t child) {
    siginfo_t info = {};
    waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == child;
  }
  int64_t Newest() const {
    return std::filesystem::is_directory(folder_) ? NextNumber(folder_) - 1 : 0;
  }

  std::string folder_ = TempPath("killed");
};

// The end of a run that nobody kills, as one file.
std::string Whole(const TrainConfig& config) {
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config);
  RunTraining(trainer, DataSets(config, {}), {.checkpoint = TempPath("whole")});
  return ReadFile(TempPath("whole"));
}

TEST_F(KillRun, AnywhereEndsAsOneThatWasNeverKilled) {
  const int kills = std::getenv("TESSERA_TEST_ALL") != nullptr ? 50 : 5;
  const TrainConfig endless = ConfigOf(1'000'000, EmbeddingLocation::kDisk);
  std::mt19937 random(5);
  for (int kill_number = 0; kill_number < kills; ++kill_number) {
    const pid_t child = InChild([&] { Train(endless); });
    const int64_t until = Newest() + 1 + random() % 5;
    while (Newest() < until && !Ended(child)) usleep(200);
    usleep(random() % 8000);
    kill(child, SIGKILL);
    ASSERT_EQ(SignalOf(child), SIGKILL) << kill_number;
  }
  const int64_t epochs = ReadCheckpoint(folder_).progress->step / kStepsOfAnEpoch + 1;
  const TrainConfig config = ConfigOf(epochs, EmbeddingLocation::kDisk);
  ASSERT_EQ(SignalOf(InChild([&] { Train(config); })), 0);
  EXPECT_TRUE(ReadFile(CompactChain(folder_)) == Whole(config)) << "other bits";
}

// A file's limit ends the process inside of a write, as a kill there does. (A table on disk would
// meet it first.)
TEST_F(KillRun, InsideOfWritesEndsAsOneThatWasNeverKilled) {
  const TrainConfig config = ConfigOf(4, EmbeddingLocation::kManagedCaching);
  const auto dies = [&](rlim_t bytes, auto&& fn) {
    const pid_t child = InChild([&] {
      const rlimit limit{bytes, bytes};
      setrlimit(RLIMIT_FSIZE, &limit);
      fn();
    });
    EXPECT_EQ(SignalOf(child), SIGXFSZ) << bytes;
  };
  dies(30'000, [&] { Train(config); });  // in the first base
  EXPECT_FALSE(IsCheckpointFolder(folder_));
  TrainConfig shorter = config;
  shorter.epochs = 1;
  ASSERT_EQ(SignalOf(InChild([&] { Train(shorter); })), 0);
  const Checkpoint before = ReadCheckpoint(folder_);
  ASSERT_GT(before.chain->deltas, 0);
  dies(1000, [&] { Train(config); });  // in a delta
  EXPECT_EQ(ReadCheckpoint(folder_).chain->identity, before.chain->identity);
  dies(30'000, [&] { CompactChain(folder_); });
  EXPECT_EQ(ReadCheckpoint(folder_).chain->identity, before.chain->identity);
  ASSERT_EQ(SignalOf(InChild([&] { Train(config); })), 0);
  EXPECT_TRUE(ReadFile(CompactChain(folder_)) == Whole(config)) << "other bits";
}

}  // namespace
}  // namespace tessera
