// The end of MPI in this process: ranks leave together, or a rank has failed.
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "comm/backoff.h"
#include "comm/mpi/mpi_control.h"
#include "comm/mpi/mpi_watchdog.h"

namespace tessera::internal {
namespace {

using std::chrono::seconds;

// Sends may take so long at the end; MPI_Finalize moves what is left.
constexpr seconds kFlush(10);
// Other ranks have so long to report the call they were in, before the job is ended.
constexpr std::chrono::milliseconds kBeforeEnd(500);

}  // namespace

void MpiEngine::End() {
  try {
    FlushSends();
    TellOthers(Control::kLeft, "");
    WaitForOthersToLeave();
    if (hearing_ != MPI_REQUEST_NULL) {
      TESSERA_MPI_CHECK(MPI_Cancel(&hearing_));
      TESSERA_MPI_CHECK(MPI_Wait(&hearing_, MPI_STATUS_IGNORE));
    }
    TESSERA_MPI_CHECK(MPI_Comm_free(&control_));
    TESSERA_MPI_CHECK(MPI_Finalize());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: ending MPI: %s\n", rank_, error.what());
  }
}

// Tasks without a result belong to Awaitables that nobody waited for: they are cancelled.
void MpiEngine::FlushSends() {
  for (const auto& task : under_way_)
    if (!task->has_result_) task->Cancel();
  const auto last = Clock::now() + kFlush;
  Backoff backoff;
  while (!under_way_.empty() && Clock::now() < last) {
    std::erase_if(under_way_, [this](const auto& task) {
      try {
        return task->Advance() == MpiTask::State::kFinished;
      } catch (const std::exception&) {
        given_up_.push_back(task);
        return true;
      }
    });
    std::this_thread::sleep_for(backoff.Next(false));
  }
}

// Ends the job if a rank is lost: it will never leave.
void MpiEngine::EndIfLost() {
  std::unique_lock lock(mutex_);
  if (lost_.empty()) return;
  const std::string line = Format("rank {}: waited for the others to end: {}\n", rank_, lost_);
  std::fwrite(line.data(), 1, line.size(), stderr);
  lock.unlock();
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// A rank that waits for others inside MPI_Finalize keeps the mpirun of Open MPI 4.1 from ending
// when one of them fails.
void MpiEngine::WaitForOthersToLeave() {
  left_[static_cast<size_t>(rank_)] = Clock::now();
  Backoff backoff;
  while (!std::all_of(left_.begin(), left_.end(), [](const auto& time) { return !!time; })) {
    Beat();
    EndIfLost();
    std::this_thread::sleep_for(backoff.Next(HearOthers()));
  }
  watch_.reset();  // they may end now
  if (beats_) beats_->Finish();
  TESSERA_MPI_CHECK(
      MPI_Waitall(static_cast<int>(telling_.size()), telling_.data(), MPI_STATUSES_IGNORE));
}

void MpiEngine::Abort(const std::string& reason) noexcept {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    if (!aborted_.empty()) return;
    text = aborted_ = Format("rank {} aborted: {}", rank_, reason);
    queue_.push_back([this, text] { TellOthers(Control::kAbort, text); });
  }
  submitted_.notify_one();
  if (options_.comm_thread || std::this_thread::get_id() != owner_) return;
  try {
    RunSubmitted();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: telling the other ranks: %s\n", rank_, error.what());
  }
}

void MpiEngine::EndJob() {
  StopWatchdog();
  const auto last = Clock::now() + kBeforeEnd;
  while (Clock::now() < last) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (!options_.comm_thread) Step();
  }
  if (!options_.comm_thread) MPI_Abort(MPI_COMM_WORLD, 1);
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back([] { MPI_Abort(MPI_COMM_WORLD, 1); });
  }
  submitted_.notify_one();
  // If MPI_Abort hangs, mpirun ends the others when a process ends like this.
  std::this_thread::sleep_for(seconds(5));
  _exit(1);
}

}  // namespace tessera::internal
