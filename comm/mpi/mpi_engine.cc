#include "comm/mpi/mpi_engine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <future>
#include <map>
#include <utility>

#include "comm/backoff.h"
#include "comm/exchange_time.h"
#include "comm/mpi/mpi_control.h"
#include "comm/mpi/mpi_start_watch.h"
#include "comm/mpi/mpi_watchdog.h"
#include "runtime/base/check.h"
#include "runtime/base/start_threads.h"

namespace tessera::internal {
namespace {

using std::chrono::duration;
using std::chrono::microseconds;
using std::chrono::seconds;

// A rank that has left may still have bytes on their way for so long.
constexpr seconds kAfterLeaving(2);
// A process without work looks for other ranks' failures this often.
constexpr std::chrono::milliseconds kIdle(10);

}  // namespace

MpiEngine::MpiEngine(const MpiOptions& options) : options_(options) {
  TESSERA_CHECK(options.chunk_bytes >= 1 && options.chunk_bytes <= int64_t{1} << 30,
                "chunk_bytes {} of MPI's messages: expected 1 to 2^30", options.chunk_bytes);
  TESSERA_CHECK_GE(options.timeout_s, 0, "time-out of MPI");
  if (options.comm_thread)
    StartThread();
  else
    Begin();
}

void MpiEngine::StartThread() {
  std::promise<void> begun;
  thread_ = tessera::StartThread("thread of MPI", [this, &begun] {
    try {
      Begin();
    } catch (...) {
      return begun.set_exception(std::current_exception());
    }
    begun.set_value();
    Loop();
    End();
  });
  try {
    begun.get_future().get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

MpiEngine::~MpiEngine() {
  if (options_.comm_thread)
    StopThread();
  else
    End();
}

void MpiEngine::StopThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  submitted_.notify_one();
  thread_.join();
}

void MpiEngine::Begin() {
  owner_ = std::this_thread::get_id();
  int started = 0, provided = 0;
  TESSERA_MPI_CHECK(MPI_Initialized(&started));
  TESSERA_CHECK(!started, "MPI was started before: it starts once in a process");
  const MpiStartWatch watch(options_.rank_timeout_s, options_.on_loss);
  TESSERA_MPI_CHECK(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided));
  TESSERA_CHECK_GE(provided, int{MPI_THREAD_FUNNELED}, "threads of this MPI");
  TESSERA_MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  TESSERA_MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
  TESSERA_MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size_));
  TESSERA_MPI_CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &control_));
  left_.resize(static_cast<size_t>(size_));
  heard_ = std::make_unique<Control>();
  StartWatchdog(rank_);
  WatchOthers();
}

void MpiEngine::WatchOthers() {
  if (size_ == 1) return;
  const RankProcess mine = ThisProcess();
  std::vector<RankProcess> all(static_cast<size_t>(size_));
  constexpr int kBytes = sizeof(RankProcess);
  TESSERA_MPI_CHECK(MPI_Allgather(&mine, kBytes, MPI_BYTE, all.data(), kBytes, MPI_BYTE, control_));
  if (options_.rank_timeout_s <= 0) return;  // the others may watch this one
  std::map<int, RankProcess> here;
  for (int r = 0; r < size_; ++r) {
    RankProcess& process = all[static_cast<size_t>(r)];
    if (options_.hosts_apart) std::snprintf(process.host, sizeof process.host, "of rank %d", r);
    if (r != rank_ && std::strcmp(process.host, mine.host) == 0) here.emplace(r, process);
  }
  if (!here.empty())
    watch_ = std::make_unique<RankWatch>(here, options_.rank_timeout_s,
                                         [this](int rank, const std::string& what) {
                                           Lose({rank, what, /*with_host=*/false});
                                         });
  if (options_.comm_thread)  // others send only while their caller waits
    beats_ =
        std::make_unique<MpiBeats>(control_, Control::kBeat, rank_, all, options_.rank_timeout_s);
}

void MpiEngine::Lose(const LostRank& lost) {
  {
    const std::lock_guard lock(mutex_);
    if (aborted_.empty()) aborted_ = lost.what;
    if (lost_.empty()) lost_ = lost.what;
  }
  submitted_.notify_one();
  if (options_.on_loss) options_.on_loss(lost);
}

void MpiEngine::Loop() {
  Backoff backoff;
  for (;;) {
    bool moved = false;
    try {
      moved = Step();
    } catch (const std::exception& error) {
      Abort(error.what());
    }
    const microseconds pause = backoff.Next(moved);
    std::unique_lock lock(mutex_);
    if (stop_ && queue_.empty()) return;
    const auto wake = [&] { return stop_ || !queue_.empty(); };
    if (under_way_.empty()) {
      submitted_.wait_for(lock, kIdle, wake);
    } else if (pause.count() > 0) {
      submitted_.wait_for(lock, pause, wake);
    } else if (queue_.empty()) {
      lock.unlock();
      sched_yield();
    }
  }
}

bool MpiEngine::Step() {
  const bool ran = RunSubmitted(), advanced = AdvanceAll(), heard = HearOthers();
  Beat();
  return ran || advanced || heard;
}

void MpiEngine::Beat() {
  if (!beats_) return;
  if (const auto silent = beats_->Step()) Lose({silent->rank, silent->what, /*with_host=*/true});
}

bool MpiEngine::RunSubmitted() {
  bool ran = false;
  for (;; ran = true) {
    std::unique_lock lock(mutex_);
    if (queue_.empty()) return ran;
    const std::function<void()> fn = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    fn();
  }
}

bool MpiEngine::HearOthers() {
  if (hearing_ == MPI_REQUEST_NULL)
    TESSERA_MPI_CHECK(
        MPI_Irecv(heard_.get(), sizeof(Control), MPI_BYTE, MPI_ANY_SOURCE, 0, control_, &hearing_));
  int done = 0;
  MPI_Status status;
  TESSERA_MPI_CHECK(MPI_Test(&hearing_, &done, &status));
  if (!done) return false;
  if (beats_) beats_->Heard(status.MPI_SOURCE);
  if (heard_->kind == Control::kLeft) {
    left_[static_cast<size_t>(status.MPI_SOURCE)] = Clock::now();
    anybody_left_ = true;
    if (beats_) beats_->Left(status.MPI_SOURCE);
  } else if (heard_->kind == Control::kAbort) {
    const std::lock_guard lock(mutex_);
    if (aborted_.empty()) aborted_ = heard_->text;
  }
  return true;
}

void MpiEngine::TellOthers(char kind, const std::string& text) {
  told_.push_back(std::make_unique<Control>());
  Control& message = *told_.back();
  message.kind = kind;
  std::strncpy(message.text, text.c_str(), sizeof message.text - 1);
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    telling_.push_back(MPI_REQUEST_NULL);
    TESSERA_MPI_CHECK(
        MPI_Isend(&message, sizeof message, MPI_BYTE, r, 0, control_, &telling_.back()));
  }
}

bool MpiEngine::AdvanceAll() {
  bool moved = false;
  for (std::shared_ptr<MpiTask>& task : under_way_) moved |= AdvanceOne(task);
  std::erase(under_way_, nullptr);
  return moved;
}

bool MpiEngine::AdvanceOne(std::shared_ptr<MpiTask>& task) {
  try {
    const MpiTask::State state = task->Advance();
    if (state >= MpiTask::State::kHasResult && !task->has_result_) Settle(*task, nullptr);
    if (!task->has_result_) CheckHope(*task);
    if (state == MpiTask::State::kFinished) task.reset();
    return state != MpiTask::State::kWaiting;
  } catch (...) {
    GiveUp(task, std::current_exception());
    task.reset();
    return true;
  }
}

void MpiEngine::CheckHope(const MpiTask& task) const {
  {
    const std::lock_guard lock(mutex_);
    if (!aborted_.empty())
      throw CommunicatorAborted(Format("waited in {}: {}", task.call(), aborted_));
  }
  if (!anybody_left_) return;
  for (const int r : task.Missing()) {
    const auto& left = left_[static_cast<size_t>(r)];
    if (left && Clock::now() - *left > kAfterLeaving)
      throw CommunicatorAborted(
          Format("waits in {}, but rank {} has left without making this call", task.call(), r));
  }
}

void MpiEngine::Settle(MpiTask& task, std::exception_ptr failure) {
  {
    const std::lock_guard lock(mutex_);
    if (task.has_result_) return;
    task.has_result_ = true;
    task.failure_ = std::move(failure);
  }
  settled_.notify_all();
}

void MpiEngine::GiveUp(const std::shared_ptr<MpiTask>& task, std::exception_ptr failure) {
  task->Cancel();
  given_up_.push_back(task);
  Settle(*task, std::move(failure));
}

void MpiEngine::StartTask(const std::shared_ptr<MpiTask>& task) {
  try {
    CheckHope(*task);
    task->Start();
    under_way_.push_back(task);
  } catch (...) {
    GiveUp(task, std::current_exception());
  }
}

void MpiEngine::CheckOwner() const {
  TESSERA_CHECK(std::this_thread::get_id() == owner_,
                "without a thread of its own (comm_thread), MPI is used by the thread that started "
                "it alone");
}

void MpiEngine::Submit(std::shared_ptr<MpiTask> task) {
  if (!options_.comm_thread) {
    CheckOwner();
    return StartTask(task);
  }
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back([this, task = std::move(task)] { StartTask(task); });
  }
  submitted_.notify_one();
}

void MpiEngine::Run(const std::function<void()>& fn) {
  if (!options_.comm_thread) {
    CheckOwner();
    return fn();
  }
  auto done = std::make_shared<std::promise<void>>();
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back([&fn, done] {
      try {
        fn();
        done->set_value();
      } catch (...) {
        done->set_exception(std::current_exception());
      }
    });
  }
  submitted_.notify_one();
  done->get_future().get();
}

void MpiEngine::Wait(const std::shared_ptr<MpiTask>& task) {
  const ExchangeTime time;
  const std::string call = ToString(task->call());
  SetWatchdogStatus("in " + call);
  if (options_.comm_thread)
    WaitForThread(*task);
  else
    WaitByMoving(*task);
  SetWatchdogStatus("outside of collectives; the last was " + call);
  if (task->failure_) std::rethrow_exception(task->failure_);
}

void MpiEngine::WaitForThread(const MpiTask& task) {
  const auto has_result = [&] { return task.has_result_; };
  std::unique_lock lock(mutex_);
  if (options_.timeout_s == 0) return settled_.wait(lock, has_result);
  if (settled_.wait_for(lock, duration<double>(options_.timeout_s), has_result)) return;
  lock.unlock();
  FailForTime(task);
}

void MpiEngine::WaitByMoving(const MpiTask& task) {
  CheckOwner();
  const auto begin = Clock::now();
  Backoff backoff;
  while (!task.has_result_) {
    const microseconds pause = backoff.Next(Step());
    if (task.has_result_) return;
    if (options_.timeout_s > 0 && Clock::now() - begin > duration<double>(options_.timeout_s))
      FailForTime(task);
    pause.count() > 0 ? std::this_thread::sleep_for(pause) : std::this_thread::yield();
  }
}

void MpiEngine::FailForTime(const MpiTask& task) {
  std::string missing;
  Run([&] {
    for (const int r : task.Missing()) missing += (missing.empty() ? "" : ", ") + std::to_string(r);
  });
  TESSERA_FAIL("waited {} s in {}: nothing, or not all, came from ranks {}", options_.timeout_s,
               task.call(), missing);
}

}  // namespace tessera::internal
