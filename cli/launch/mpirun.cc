#include "cli/launch/mpirun.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "cli/child_process.h"
#include "cli/interrupt.h"
#include "cli/launch/without_nuls.h"
#include "comm/rank_process.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

constexpr auto kLookEvery = std::chrono::milliseconds(20);

// The file of this program, which mpirun starts on every host.
std::string ThisProgramsFile() {
  std::error_code none;
  const fs::path path = fs::read_symlink(kThisProgram, none);
  if (!fs::exists(path, none))
    throw Error(
        Format("{}: this program's file is gone, or was replaced: start tessera launch "
               "again",
               path.string()));
  return path.string();
}

std::vector<std::string> WordsOf(const MpirunStart& start) {
  std::vector<std::string> words = {"mpirun"};
  if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
  if (start.hostfile.empty())
    words.emplace_back("--oversubscribe");
  else
    words.insert(words.end(), {"--hostfile", start.hostfile, "--map-by", "slot"});
  words.insert(words.end(), {"-x", kLaunchFolder, "-n", std::to_string(start.ranks)});
  words.push_back(ThisProgramsFile());
  words.insert(words.end(), start.words.begin(), start.words.end());
  return words;
}

// Returns whether a rank got the signal; else mpirun ends.
bool PassOnSignal(pid_t mpirun, const std::string& reports) {
  const pid_t rank = ProcessHere(reports);
  if (rank != 0 && kill(rank, InterruptSignal()) == 0) return true;
  kill(mpirun, SIGTERM);
  return false;
}

// Ends the ranks of this host that stay stopped: after 3 s when all ranks have left, else after the
// longest stop, before which the ranks that have met tell each other.
class StoppedRanks {
 public:
  explicit StoppedRanks(const MpirunStart& start) : start_(start) {}

  void Look() {
    const Clock::time_point now = Clock::now();
    if (now - looked_ < std::chrono::milliseconds(500)) return;
    looked_ = now;
    const std::vector<pid_t> stopped = Stopped();
    if (stopped.empty())
      since_ = now;
    else if (std::chrono::duration<double>(now - since_).count() >= Longest())
      for (const pid_t process : stopped) kill(process, SIGKILL);
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<pid_t> Stopped() const {
    std::vector<pid_t> processes = ProcessesHere(start_.reports);
    std::erase_if(processes, [](pid_t process) { return internal::StateOf(process) != 'T'; });
    return processes;
  }
  double Longest() const {
    if (CodeOfRanks(start_.reports, start_.ranks)) return 3;
    return start_.longest_stop_s > 0 ? start_.longest_stop_s : HUGE_VAL;
  }

  const MpirunStart& start_;
  Clock::time_point looked_ = Clock::now(), since_ = looked_;
};

// Ends an mpirun that stays when the ranks that it started are gone: that of Open MPI 4.1 may wait
// for itself for ever as it ends (PMIx_server_finalize). On several hosts, daemons that are no
// children of mpirun's run the ranks, so that nothing tells here that all are gone.
class StuckMpirun {
 public:
  StuckMpirun(pid_t mpirun, const MpirunStart& start)
      : mpirun_(mpirun), watched_(start.hostfile.empty()) {}

  // Returns whether it has ended mpirun.
  bool Look() {
    const Clock::time_point now = Clock::now();
    if (!watched_ || now - looked_ < std::chrono::milliseconds(200)) return false;
    looked_ = now;
    const bool has_ranks = !internal::LivingChildrenOf(mpirun_).empty();
    if (has_ranks || !had_ranks_ || !OutputIsRead()) since_ = now;
    had_ranks_ |= has_ranks;
    return now - since_ >= kPatience && kill(mpirun_, SIGKILL) == 0;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kPatience = std::chrono::seconds(10);

  // mpirun also stays while a reader of its output, such as a pager, lets it wait.
  static bool OutputIsRead() {
    pollfd outputs[] = {{STDOUT_FILENO, POLLOUT, 0}, {STDERR_FILENO, POLLOUT, 0}};
    return poll(outputs, std::size(outputs), 0) == std::ssize(outputs);
  }

  const pid_t mpirun_;
  const bool watched_;
  bool had_ranks_ = false;
  Clock::time_point looked_ = Clock::now(), since_ = looked_;
};

// Waits until mpirun has ended.
MpirunEnd WaitFor(pid_t mpirun, const MpirunStart& start) {
  StoppedRanks stopped(start);
  StuckMpirun stuck(mpirun, start);
  int status = 0;
  bool passed_on = false, ended_it = false, was_stuck = false;
  while (waitpid(mpirun, &status, WNOHANG) != mpirun) {
    if (!passed_on && Interrupted()) {
      ended_it = !PassOnSignal(mpirun, start.reports);
      passed_on = true;
    }
    stopped.Look();
    was_stuck |= stuck.Look();
    std::this_thread::sleep_for(kLookEvery);
  }
  const bool killed = WIFSIGNALED(status);
  const int code = killed ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  const std::optional<int> of_ranks = CodeOfRanks(start.reports, start.ranks);
  if (code == 0 && !ended_it && !of_ranks && EntriesOf(start.reports).empty())
    throw Error(Format("{}: it ended with 0, but no rank has begun: expected Open MPI's mpirun",
                       start.mpirun));
  return {.code = ended_it ? InterruptedExit(InterruptSignal()) : of_ranks.value_or(code),
          .mpirun_was_killed = killed && !was_stuck && !of_ranks,
          .losses = LossesIn(start.reports)};
}

}  // namespace

std::string FindMpirun() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (fs::path(folder) / "mpirun").string();
    std::error_code none;
    if (fs::is_regular_file(file, none) && access(file.c_str(), X_OK) == 0) return file;
  }
  throw Error(
      "mpirun is not in PATH: install Open MPI (apt-get install openmpi-bin), or train with "
      "tessera train --ranks N, whose ranks are threads of one process");
}

MpirunEnd RunMpirun(const MpirunStart& start) {
  fs::create_directories(start.reports);
  setenv(kLaunchFolder, fs::absolute(start.reports).c_str(), /*overwrite=*/1);
  // Open MPI 4 wants ssh, which containers lack, also for this host alone.
  if (start.hostfile.empty()) setenv("OMPI_MCA_plm", "isolated", /*overwrite=*/0);
  // Open MPI 5 starts nothing without a home.
  setenv("HOME", "/", /*overwrite=*/0);
  WithoutNuls errors;
  pid_t mpirun = 0;
  try {
    mpirun = StartChild({.program = start.mpirun,
                         .words = WordsOf(start),
                         .errors = errors.child_end(),
                         .guarded = true});
  } catch (const Error& error) {
    throw Error(Format("{} cannot be started: {}", start.mpirun, error.what()));
  }
  errors.CloseChildEnd();
  return WaitFor(mpirun, start);
}

}  // namespace tessera::cli
