#ifndef TESSERA_COMM_MPI_MPI_ENGINE_H_
#define TESSERA_COMM_MPI_MPI_ENGINE_H_
// MPI in this process, from MPI_Init_thread to MPI_Finalize, and what is under way in it. All calls
// of MPI are made by one thread: one of the engine's own, or the caller's, where things move on
// only inside Wait.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/call.h"
#include "comm/mpi/mpi_beats.h"
#include "comm/mpi/mpi_check.h"
#include "comm/mpi/mpi_communicator.h"
#include "comm/rank_watch.h"

namespace tessera::internal {

// A call under way. Start and the rest are called by the thread of MPI alone.
class MpiTask {
 public:
  explicit MpiTask(Call call) : call_(std::move(call)) {}
  virtual ~MpiTask() = default;
  MpiTask(const MpiTask&) = delete;
  MpiTask& operator=(const MpiTask&) = delete;
  const Call& call() const { return call_; }

  // Nothing moves, bytes are on their way, the result is there, nothing is pending.
  enum class State { kWaiting, kMoving, kHasResult, kFinished };
  virtual void Start() = 0;
  virtual State Advance() = 0;
  // Nothing arrives any more.
  virtual void Cancel() noexcept = 0;
  // Ranks of the job that have not sent yet.
  virtual std::vector<int> Missing() const = 0;

 private:
  friend class MpiEngine;
  Call call_;
  bool has_result_ = false;
  std::exception_ptr failure_;
};

class MpiEngine {
 public:
  explicit MpiEngine(const MpiOptions& options);
  // Waits for what is being sent, tells the other ranks that this one sends no more, and when all
  // have, ends MPI.
  ~MpiEngine();
  MpiEngine(const MpiEngine&) = delete;
  MpiEngine& operator=(const MpiEngine&) = delete;

  const MpiOptions& options() const { return options_; }
  int rank() const { return rank_; }  // in the job
  int size() const { return size_; }

  void Submit(std::shared_ptr<MpiTask> task);
  // Waits until the task has its result. Throws what it failed with; Error after the time-out.
  void Wait(const std::shared_ptr<MpiTask>& task);
  // fn(), by the thread of MPI.
  void Run(const std::function<void()>& fn);
  // Ends all that waits, here and on the other ranks.
  void Abort(const std::string& reason) noexcept;
  // Gives the other ranks some time to end by themselves, then ends the job.
  [[noreturn]] void EndJob();

 private:
  using Clock = std::chrono::steady_clock;
  struct Control;  // what ranks tell each other beside calls

  void StartThread();
  void StopThread();
  void Begin();
  void End();
  void Loop();
  // Runs what was submitted, moves what is under way; whether anything moved.
  bool Step();
  bool RunSubmitted();
  bool AdvanceAll();
  // Whether it is to be looked at again soon. Null afterwards if it has ended.
  bool AdvanceOne(std::shared_ptr<MpiTask>& task);
  bool HearOthers();
  void TellOthers(char kind, const std::string& text);
  void StartTask(const std::shared_ptr<MpiTask>& task);
  void Settle(MpiTask& task, std::exception_ptr failure);
  void GiveUp(const std::shared_ptr<MpiTask>& task, std::exception_ptr failure);
  void CheckHope(const MpiTask& task) const;
  void WaitForThread(const MpiTask& task);
  void WaitByMoving(const MpiTask& task);
  [[noreturn]] void FailForTime(const MpiTask& task);
  void FlushSends();
  void WaitForOthersToLeave();
  void CheckOwner() const;
  // The processes of the other ranks; `what` was lost of them.
  void WatchOthers();
  void Lose(const LostRank& lost);
  void Beat();
  void EndIfLost();

  MpiOptions options_;
  int rank_ = 0, size_ = 1;
  std::thread thread_;
  std::thread::id owner_;

  mutable std::mutex mutex_;
  std::condition_variable submitted_, settled_;
  std::deque<std::function<void()>> queue_;
  std::string aborted_, lost_;
  bool stop_ = false;

  // Used by the MPI thread alone.
  std::vector<std::shared_ptr<MpiTask>> under_way_;
  std::vector<std::shared_ptr<MpiTask>> given_up_;      // MPI may still read what they send
  std::vector<std::optional<Clock::time_point>> left_;  // when a rank said that it sends no more
  bool anybody_left_ = false;
  MPI_Comm control_ = MPI_COMM_NULL;
  std::unique_ptr<Control> heard_;
  MPI_Request hearing_ = MPI_REQUEST_NULL;
  std::vector<std::unique_ptr<Control>> told_;
  std::vector<MPI_Request> telling_;
  std::unique_ptr<MpiBeats> beats_;
  std::unique_ptr<RankWatch> watch_;  // the last: its thread uses the others
};

}  // namespace tessera::internal
#endif  // TESSERA_COMM_MPI_MPI_ENGINE_H_
