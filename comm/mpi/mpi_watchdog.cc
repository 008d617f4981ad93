#include "comm/mpi/mpi_watchdog.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace tessera::internal {
namespace {

// There are two, so that the handler never reads the one that is being written.
struct Status {
  char text[600];
  size_t length;
};
Status statuses[2];
std::atomic<int> current = 0;
char head[64];

void Write(const char* text, size_t length) { (void)!write(STDERR_FILENO, text, length); }

void Tell(int signal) {
  const Status& status = statuses[current.load(std::memory_order_acquire)];
  Write(head, std::strlen(head));
  Write(status.text, status.length);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void StartWatchdog(int rank) {
  struct sigaction action = {};
  if (sigaction(SIGTERM, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  std::snprintf(head, sizeof head, "rank %d: ended by SIGTERM ", rank);
  SetWatchdogStatus("before its first collective");
  action = {};
  action.sa_handler = Tell;
  sigaction(SIGTERM, &action, nullptr);
}

void StopWatchdog() {
  struct sigaction action = {};
  if (sigaction(SIGTERM, nullptr, &action) == 0 && action.sa_handler == Tell)
    std::signal(SIGTERM, SIG_DFL);
}

void SetWatchdogStatus(const std::string& status) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const int next = 1 - current.load(std::memory_order_relaxed);
  Status& slot = statuses[next];
  slot.length = static_cast<size_t>(
      std::snprintf(slot.text, sizeof slot.text - 1, "%.*s\n", 590, status.c_str()));
  current.store(next, std::memory_order_release);
}

}  // namespace tessera::internal
