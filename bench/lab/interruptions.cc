#include "bench/lab/interruptions.h"

#include <unistd.h>

#include <barrier>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <mutex>

#include "runtime/base/check.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace tessera::bench {
namespace {

constexpr long kEvery = 200'000, kFor = 50'000;  // nanoseconds

void SleepForAMoment(int) {
  const int error = errno;
  const timespec time = {0, kFor};
  nanosleep(&time, nullptr);
  errno = error;
}

// A timer that interrupts the calling thread.
timer_t StartTimer() {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGURG;
  event.sigev_notify_thread_id = gettid();
  timer_t timer = nullptr;
  TESSERA_CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "a timer could not be made");
  const itimerspec every = {{0, kEvery}, {0, kEvery}};
  timer_settime(timer, 0, &every, nullptr);
  return timer;
}

}  // namespace

Interruptions::Interruptions(Context& ctx) {
  struct sigaction action = {};
  action.sa_handler = SleepForAMoment;
  action.sa_flags = SA_RESTART;
  sigaction(SIGURG, &action, nullptr);
  const int threads = ctx.threads().threads();
  std::barrier all(threads);
  std::mutex mutex;
  ParallelFor(ctx, threads, 1, [&](int64_t, int64_t) {
    all.arrive_and_wait();  // each thread has one piece
    const std::lock_guard lock(mutex);
    timers_.push_back(StartTimer());
  });
}

Interruptions::~Interruptions() {
  for (void* timer : timers_) timer_delete(timer);
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  sigaction(SIGURG, &action, nullptr);
}

}  // namespace tessera::bench
