#include "comm/mpi/mpi_start_watch.h"

#include <dirent.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "comm/rank_process.h"
#include "runtime/base/check.h"
#include "runtime/base/start_threads.h"

namespace tessera::internal {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kJob = "PMIX_NAMESPACE=", kRank = "PMIX_RANK=";

std::string JobOfThisProcess() {
  const char* job = std::getenv("PMIX_NAMESPACE");
  return job == nullptr ? "" : job;
}

// The rank that a process of the job has in it; absent for a process of another job or user.
std::optional<int> RankIn(const std::string& job, pid_t pid) {
  std::ifstream file(Format("/proc/{}/environ", int64_t{pid}));
  std::optional<int> rank;
  bool of_job = false;
  for (std::string text; std::getline(file, text, '\0');) {
    if (text.starts_with(kRank)) rank = std::atoi(text.c_str() + kRank.size());
    of_job |= text.starts_with(kJob) && text.substr(kJob.size()) == job;
  }
  return of_job ? rank : std::nullopt;
}

std::vector<pid_t> Processes() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  if (!folder) return pids;
  while (const dirent* entry = readdir(folder.get()))
    if (const int pid = std::atoi(entry->d_name); pid > 0) pids.push_back(pid);
  return pids;
}

// The ranks of the job's processes: of a script that starts the rank's program, and the program.
std::map<pid_t, int> RanksIn(const std::string& job) {
  std::map<pid_t, int> ranks;
  for (const pid_t pid : Processes())
    if (const std::optional<int> rank = RankIn(job, pid)) ranks.emplace(pid, *rank);
  return ranks;
}

}  // namespace

MpiStartWatch::MpiStartWatch(double timeout_s, std::function<void(const LostRank&)> on_loss)
    : interval_(
          std::clamp(static_cast<int64_t>(timeout_s * 1000 / 10), int64_t{100}, int64_t{500})),
      stopped_(timeout_s, interval_),
      on_loss_(std::move(on_loss)) {
  if (timeout_s <= 0 || MpiLocalSize() < 2 || JobOfThisProcess().empty()) return;
  thread_ = StartThread("watch over the ranks that start", [this] { Watch(); });
}

MpiStartWatch::~MpiStartWatch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    started_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void MpiStartWatch::Watch() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval_, [this] { return started_; })) {
    const std::optional<LostRank> lost = Look();
    if (!lost) continue;
    if (on_loss_) on_loss_(*lost);
    const std::string line =
        Format("rank {}: waited in the start of MPI: {}\n", MpiRank(), lost->what);
    (void)!write(STDERR_FILENO, line.data(), line.size());
    _exit(1);
  }
}

std::optional<LostRank> MpiStartWatch::Look() {
  stopped_.BeginLook();
  RankProcess process = ThisProcess();
  for (const auto& [pid, rank] : RanksIn(JobOfThisProcess())) {
    if (rank == MpiRank()) continue;
    process.pid = pid;
    if (std::string what = stopped_.LookAt(rank, process); !what.empty())
      return LostRank{rank, std::move(what)};
  }
  return {};
}

}  // namespace tessera::internal
