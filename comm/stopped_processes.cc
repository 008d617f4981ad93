#include "comm/stopped_processes.h"

#include "runtime/base/check.h"

namespace tessera::internal {

void StoppedProcesses::BeginLook() {
  const Clock::time_point last = now_;
  now_ = Clock::now();
  // This process was stopped itself: the others had no time to go on.
  if (now_ - last > timeout_ / 2 + 4 * interval_) since_.clear();
}

std::string StoppedProcesses::LookAt(int rank, const RankProcess& process) {
  if (StateOf(process.pid) != 'T') {
    since_.erase(process.pid);
    return "";
  }
  if (now_ - since_.try_emplace(process.pid, now_).first->second < timeout_) return "";
  return Format("{} has been stopped for {} s (SIGSTOP)", NameOf(rank, process), timeout_.count());
}

}  // namespace tessera::internal
