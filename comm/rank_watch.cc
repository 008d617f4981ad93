#include "comm/rank_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/start_threads.h"

namespace tessera::internal {
namespace {

using std::chrono::milliseconds;

// A rank that fails sends its reason some time before it ends: that message has so long to arrive.
// When a rank is killed, the mpirun of Open MPI 5 kills the others after 500 ms.
constexpr milliseconds kForMessages(100);
// This rank has so long to reach the call that fails, and to report it.
constexpr milliseconds kToEnd(3000);

// A descriptor that is readable once the process has ended; -1 if it has ended already, or if the
// kernel is older than 5.3.
int OpenProcess(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

bool HasEnded(pid_t pid, int fd) {
  if (fd < 0) return (kill(pid, 0) != 0 && errno == ESRCH) || StateOf(pid) == 'Z';
  pollfd ended = {fd, POLLIN, 0};
  return poll(&ended, 1, 0) > 0;
}

}  // namespace

RankWatch::RankWatch(const std::map<int, RankProcess>& others, double timeout_s,
                     std::function<void(int, const std::string&)> on_loss)
    : interval_(std::clamp(static_cast<int64_t>(timeout_s * 1000 / 10), int64_t{10}, int64_t{500})),
      stopped_(timeout_s, interval_),
      on_loss_(std::move(on_loss)),
      wake_(eventfd(0, EFD_CLOEXEC)) {
  for (const auto& [rank, process] : others)
    watched_.push_back({rank, process, OpenProcess(process.pid)});
  thread_ = StartThread("watch over the other ranks", [this] { Watch(); });
}

RankWatch::~RankWatch() {
  const uint64_t one = 1;
  (void)!write(wake_, &one, sizeof one);
  thread_.join();
  for (const Watched& watched : watched_)
    if (watched.fd >= 0) close(watched.fd);
  close(wake_);
}

bool RankWatch::Sleep(milliseconds time) {
  std::vector<pollfd> fds = {{wake_, POLLIN, 0}};
  for (const Watched& watched : watched_) fds.push_back({watched.fd, POLLIN, 0});
  poll(fds.data(), fds.size(), static_cast<int>(time.count()));
  return fds[0].revents == 0;
}

void RankWatch::Watch() {
  while (Sleep(interval_)) {
    if (Look().empty()) continue;
    std::this_thread::sleep_for(kForMessages);
    const std::map<int, std::string> lost = Look();
    if (!lost.empty()) return Lose(lost);
  }
}

std::map<int, std::string> RankWatch::Look() {
  stopped_.BeginLook();
  std::map<int, std::string> lost;
  for (const Watched& watched : watched_)
    if (std::string what = LookAt(watched); !what.empty())
      lost.emplace(watched.rank, std::move(what));
  return lost;
}

std::string RankWatch::LookAt(const Watched& watched) {
  if (HasEnded(watched.process.pid, watched.fd))
    return NameOf(watched.rank, watched.process) +
           " ended without taking leave: it was killed, or crashed";
  return stopped_.LookAt(watched.rank, watched.process);
}

void RankWatch::Lose(const std::map<int, std::string>& lost) {
  for (const auto& [rank, what] : lost) on_loss_(rank, what);
  for (Watched& watched : watched_)
    if (watched.fd >= 0) close(std::exchange(watched.fd, -1));  // they wake nobody any more
  if (!Sleep(kToEnd)) return;
  const std::string line = lost.begin()->second + ": this rank ends, too\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
  _exit(1);
}

}  // namespace tessera::internal
