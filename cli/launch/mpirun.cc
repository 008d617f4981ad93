#include "cli/launch/mpirun.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "cli/child_process.h"
#include "cli/interrupt.h"
#include "runtime/base/check.h"

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
  if (start.hostfile.empty())  // without ssh, which containers lack
    words.insert(words.end(), {"--oversubscribe", "--mca", "plm", "isolated"});
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

// Waits until mpirun has ended.
MpirunEnd WaitFor(pid_t mpirun, const std::string& reports) {
  int status = 0;
  bool passed_on = false, ended_it = false;
  while (waitpid(mpirun, &status, WNOHANG) != mpirun) {
    if (!passed_on && Interrupted()) {
      ended_it = !PassOnSignal(mpirun, reports);
      passed_on = true;
    }
    std::this_thread::sleep_for(kLookEvery);
  }
  const bool killed = WIFSIGNALED(status);
  const int code = killed ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return {.code = ended_it ? InterruptedExit(InterruptSignal()) : code,
          .mpirun_was_killed = killed,
          .losses = LossesIn(reports)};
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
  pid_t mpirun = 0;
  try {
    mpirun = StartChild({.program = start.mpirun, .words = WordsOf(start), .guarded = true});
  } catch (const Error& error) {
    throw Error(Format("{} cannot be started: {}", start.mpirun, error.what()));
  }
  return WaitFor(mpirun, start.reports);
}

}  // namespace tessera::cli
