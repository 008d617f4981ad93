#include "comm/mpi/mpi_start_watch.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/rank_process.h"
#include "runtime/base/check.h"
#include "runtime/base/start_threads.h"

namespace tessera::internal {

using std::chrono::milliseconds;

MpiStartWatch::MpiStartWatch(double timeout_s, std::function<void(const LostRank&)> on_loss)
    : timeout_s_(timeout_s),
      interval_(
          std::clamp(static_cast<int64_t>(timeout_s * 1000 / 10), int64_t{100}, int64_t{500})),
      stopped_(timeout_s, interval_),
      on_loss_(std::move(on_loss)) {
  if (timeout_s <= 0 || MpiLocalSize() < 2 || !InPmixJob()) return;
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
    const std::optional<Lost> lost = Look();
    if (!lost) continue;
    if (on_loss_ && lost->rank) on_loss_({*lost->rank, lost->what, /*with_host=*/false});
    const std::string line =
        Format("rank {}: waited in the start of MPI: {}\n", MpiRank(), lost->what);
    (void)!write(STDERR_FILENO, line.data(), line.size());
    _exit(1);
  }
}

std::optional<MpiStartWatch::Lost> MpiStartWatch::Look() {
  const JobProcesses job = FindJobProcesses();
  if (std::optional<Lost> stopped = LookForStopped(job)) return stopped;
  return LookForEnded(job);
}

std::optional<MpiStartWatch::Lost> MpiStartWatch::LookForStopped(const JobProcesses& job) {
  stopped_.BeginLook();
  RankProcess process = ThisProcess();
  for (const auto& [pid, rank] : job.ranks) {
    if (rank == MpiRank()) continue;
    process.pid = pid;
    if (std::string what = stopped_.LookAt(rank, process); !what.empty())
      return Lost{rank, std::move(what)};
  }
  return {};
}

std::optional<MpiStartWatch::Lost> MpiStartWatch::LookForEnded(const JobProcesses& job) {
  for (int local = 0; local < MpiLocalSize(); ++local) {
    int& looks = absent_[local];
    looks = job.complete && !job.local_ranks.contains(local) ? looks + 1 : 0;
    if (looks * interval_ < std::chrono::duration<double>(timeout_s_)) continue;
    const bool one_host = MpiLocalSize() == MpiSize();
    const std::string name =
        one_host ? Format("rank {}", local) : Format("a rank, number {} of this host's,", local);
    return Lost{std::nullopt,
                Format("{} has had no process on {} for {} s: it has ended before it started MPI",
                       name, std::string(ThisProcess().name), timeout_s_)};
  }
  return {};
}

}  // namespace tessera::internal
