#include "runtime/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/machine.h"
#include "runtime/base/size_limits.h"
#include "runtime/base/start_threads.h"

namespace tessera {
namespace {

thread_local bool inside_loop = false;

// Around 50 us: longer than the gap between two loops of a training step, shorter than a person can
// notice.
constexpr int kSpins = 2000;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace

// One loop at a time. A loop is published by raising `generation`; every worker passes through
// every generation, so that the fields of a loop never change while a worker may read them.
struct ThreadPool::State {
  std::mutex one_loop;
  int64_t n = 0, grain = 1;
  Piece piece = nullptr;
  void* fn = nullptr;
  std::atomic<int64_t> next{0};

  std::atomic<uint64_t> generation{0};
  std::atomic<int> working{0};
  std::atomic<bool> stop{false};
  std::mutex sleep_mutex;
  std::condition_variable wake;

  std::mutex error_mutex;
  std::exception_ptr error;
  std::vector<std::thread> workers;

  void TakePieces() {
    inside_loop = true;
    for (;;) {
      const int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= n) break;
      try {
        piece(fn, begin, std::min(n, begin + grain));
      } catch (...) {
        next.store(n, std::memory_order_relaxed);
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
      }
    }
    inside_loop = false;
  }

  void WaitForGenerationAfter(uint64_t seen) {
    for (int i = 0; i < kSpins; ++i) {
      if (generation.load(std::memory_order_acquire) != seen) return;
      Pause();
    }
    std::unique_lock lock(sleep_mutex);
    wake.wait(lock, [&] { return generation.load(std::memory_order_acquire) != seen; });
  }

  void Work() {
    for (uint64_t seen = 0;; ++seen) {
      WaitForGenerationAfter(seen);
      if (stop.load(std::memory_order_acquire)) return;
      TakePieces();
      working.fetch_sub(1, std::memory_order_release);
    }
  }

  void NextGeneration() {
    {
      const std::lock_guard lock(sleep_mutex);
      generation.fetch_add(1, std::memory_order_release);
    }
    wake.notify_all();
  }

  void Stop() {
    stop.store(true, std::memory_order_release);
    NextGeneration();
  }
};

ThreadPool::ThreadPool(int threads)
    : threads_(threads == 0 ? DefaultThreads() : threads), state_(new State) {
  CheckPositive(threads_, SizeLimits::kThreads, "threads of a pool");
  StartThreads(state_->workers, threads_ - 1, "worker thread",
               [s = state_.get()](int) { s->Work(); });
}

ThreadPool::~ThreadPool() {
  state_->Stop();
  for (std::thread& worker : state_->workers) worker.join();
}

void ThreadPool::RunPieces(int64_t n, int64_t grain, Piece piece, void* fn) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  if (threads_ == 1 || n <= grain || inside_loop) {
    for (int64_t begin = 0; begin < n; begin += grain) piece(fn, begin, std::min(n, begin + grain));
    return;
  }
  State& s = *state_;
  const std::lock_guard lock(s.one_loop);
  s.n = n;
  s.grain = grain;
  s.piece = piece;
  s.fn = fn;
  s.next.store(0, std::memory_order_relaxed);
  s.working.store(threads_ - 1, std::memory_order_relaxed);
  s.NextGeneration();
  s.TakePieces();
  for (int spins = 0; s.working.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins < kSpins)
      Pause();
    else
      std::this_thread::yield();
  }
  if (s.error) std::rethrow_exception(std::exchange(s.error, nullptr));
}

}  // namespace tessera
