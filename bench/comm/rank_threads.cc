#include "bench/comm/rank_threads.h"

#include "comm/local_communicator.h"

namespace tessera::bench {

RankThreads::RankThreads(int ranks) : comms_(MakeLocalCommunicators(ranks)) {
  for (size_t r = 0; r < comms_.size(); ++r) threads_.emplace_back([this, r] { Work(r); });
}

RankThreads::~RankThreads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void RankThreads::Run(const Fn& fn) {
  std::unique_lock lock(mutex_);
  fn_ = &fn;
  ++calls_;
  running_ = comms_.size();
  changed_.notify_all();
  changed_.wait(lock, [&] { return running_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void RankThreads::RunOne(size_t rank, const Fn& fn) {
  thread_local Context ctx({.threads = 1});
  try {
    fn(*comms_[rank], ctx);
  } catch (const std::exception& error) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    comms_[rank]->Abort(error.what());
  }
}

void RankThreads::Work(size_t rank) {
  for (int64_t call = 1;; ++call) {
    const Fn* fn = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || calls_ >= call; });
      if (stop_) return;
      fn = fn_;
    }
    RunOne(rank, *fn);
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) changed_.notify_all();
  }
}

}  // namespace tessera::bench
