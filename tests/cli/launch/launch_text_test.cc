// Hostfiles of tessera launch, and how it tells a loss from an error.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/launch/hosts.h"
#include "cli/launch/loss_text.h"
#include "cli/train/rank_reports.h"
#include "gtest/gtest.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"

namespace tessera::cli {
namespace {

std::string Temporary(const std::string& name) {
  const std::string path = PathIn(testing::TempDir(), name);
  std::filesystem::remove_all(path);
  return path;
}

std::vector<HostSlots> Read(const std::string& text) {
  const std::string path = Temporary("hosts");
  ReplaceTextFile(path, text);
  return ReadHostfile(path);
}

std::string Refused(const std::string& text) {
  try {
    Read(text);
  } catch (const Error& error) {
    const std::string what = error.what();
    return what.substr(what.find("hosts: "));
  }
  return "";
}

TEST(Hosts, LinesAreHostsAndSlots) {
  const auto hosts = Read("# two\nnode1 slots=4\n\n  node2   slots=2 # half\n");
  EXPECT_EQ(RanksOf(hosts), 6);
  EXPECT_EQ(HostfileText(hosts), "node1 slots=4\nnode2 slots=2\n");
}

TEST(Hosts, OtherLinesAreRefused) {
  const std::string form = ": expected HOST slots=N, N being 1 to 99999, got '";
  for (const std::string line : {"node1", "node1 slots=", "node1 slots=0", "node1 slots=x",
                                 "node1 slots=2 max_slots=3", "node1 slots=123456"})
    EXPECT_EQ(Refused("a slots=1\n" + line + "\n"), "hosts: line 2" + form + line + "'");
  EXPECT_EQ(Refused("a slots=1\na slots=1\n"),
            "hosts: line 2: a is there twice: give all of its slots in one line");
  EXPECT_EQ(Refused("# none\n"), "hosts: expected lines HOST slots=N, got none");
}

TEST(Hosts, ALostRankTakesItsSlotOrItsHost) {
  const auto hosts = Read("a slots=2\nb slots=1\nc slots=3\n");
  const auto left = [&](const std::vector<LostRank>& lost) {
    return HostfileText(WithoutLost(hosts, lost));
  };
  EXPECT_EQ(left({{0, ""}}), "a slots=1\nb slots=1\nc slots=3\n");
  EXPECT_EQ(left({{2, ""}}), "a slots=2\nc slots=3\n");
  EXPECT_EQ(left({{1, ""}, {5, ""}}), "a slots=1\nb slots=1\nc slots=2\n");
  EXPECT_EQ(left({{3, "", true}}), "a slots=2\nb slots=1\n");
}

MpirunEnd End(int code, std::vector<ReportedLoss> losses = {}) {
  return {.code = code, .mpirun_was_killed = false, .losses = std::move(losses)};
}

TEST(Loss, CodesOfTrainAreNone) {
  for (const int code : {0, 1, 127, 128, 129, 130, 143}) EXPECT_FALSE(LossOf(End(code))) << code;
  EXPECT_FALSE(LossOf({.code = 137, .mpirun_was_killed = true, .losses = {}}));
}

TEST(Loss, ASignalIsOneOfAnUnknownRank) {
  EXPECT_EQ(LossOf(End(137))->text, "a rank was lost: it was killed by signal 9");
  EXPECT_TRUE(LossOf(End(139))->ranks.empty());
}

TEST(Loss, ReportsNameRankAndStep) {
  const std::string name = "rank 2 (process 4711 on node7) ";
  const ReportedLoss killed{{2, name + "ended without taking leave: it was killed, or crashed"},
                            137},
      stopped{{2, name + "has been stopped for 3 s (SIGSTOP)"}, 137},
      silent{{4, name + "has not been heard of for 3 s", true}, {}};
  EXPECT_EQ(LossOf(End(137, {killed}))->text,
            "rank 2 was lost after step 137: it was killed by signal 9");
  EXPECT_EQ(LossOf(End(1, {killed}))->text,
            "rank 2 was lost after step 137: it ended without taking leave: it was killed, or "
            "crashed");
  EXPECT_EQ(LossOf(End(1, {stopped}))->text,
            "rank 2 was lost after step 137: it has been stopped for 3 s (SIGSTOP)");
  EXPECT_EQ(LossOf(End(1, {silent}))->text,
            "rank 4 was lost before its first step: its host has not been heard of for 3 s");
  EXPECT_EQ(LossOf(End(1, {stopped, silent}))->ranks.size(), 2u);
}

// The reports of this process as one rank after another.
class RankReports : public testing::Test {
 protected:
  RankReports() : folder_(Temporary("reports")) {
    std::filesystem::create_directories(folder_);
    setenv(kLaunchFolder, folder_.c_str(), 1);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  }
  ~RankReports() override {
    unsetenv(kLaunchFolder);
    unsetenv("OMPI_COMM_WORLD_SIZE");
  }
  static void Be(int rank) { setenv("OMPI_COMM_WORLD_RANK", std::to_string(rank).c_str(), 1); }
  const std::string folder_;
};

TEST_F(RankReports, SeveralSayTheSameLoss) {
  for (const int rank : {0, 3}) {
    Be(rank);
    ReportStep(rank + 7);
    ReportLoss({1, "rank 1 is gone", rank == 3});
  }
  const auto losses = LossesIn(folder_);
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].lost.rank, 1);
  EXPECT_EQ(losses[0].lost.what, "rank 1 is gone");
  EXPECT_TRUE(losses[0].lost.with_host);
  EXPECT_EQ(losses[0].step, 10);
}

TEST_F(RankReports, ARankThatEndedByItselfIsNotLost) {
  Be(1);
  ReportEnd(0);
  Be(0);
  ReportLoss({1, "rank 1 is gone"});
  EXPECT_TRUE(LossesIn(folder_).empty());
  Be(2);
  ReportLoss({3, "rank 3 is stopped"});
  Be(3);
  ReportEnd(0);  // mpirun had it go on to end it
  EXPECT_EQ(LossesIn(folder_).size(), 1u);
}

TEST_F(RankReports, TheCodeIsThatOfAllRanks) {
  for (const int rank : {0, 1, 2}) {
    EXPECT_FALSE(CodeOfRanks(folder_, 3));
    Be(rank);
    ReportEnd(rank == 1 ? 143 : 0);
  }
  EXPECT_EQ(CodeOfRanks(folder_, 3), 143);
}

TEST_F(RankReports, ASignalGoesToTheFirstRankThatRuns) {
  EXPECT_EQ(ProcessHere(folder_), 0);
  Be(0);
  ReportProcess();
  EXPECT_EQ(ProcessHere(folder_), getpid());
  ReportEnd(0);
  EXPECT_EQ(ProcessHere(folder_), 0);
  EXPECT_EQ(ProcessesHere(folder_), std::vector<pid_t>{getpid()});
}

TEST(RankReportsWithoutLaunch, NothingIsWritten) {
  ReportProcess();
  ReportEnd(0);
  ReportLoss({1, "rank 1 is gone"});
  EXPECT_TRUE(LossesIn("").empty());
}

}  // namespace
}  // namespace tessera::cli
