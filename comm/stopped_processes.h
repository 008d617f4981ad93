#ifndef TESSERA_COMM_STOPPED_PROCESSES_H_
#define TESSERA_COMM_STOPPED_PROCESSES_H_
// How long processes of other ranks on this host have been stopped (SIGSTOP), as one that looks at
// them again and again has seen it. A process that a debugger holds is not stopped.
#include <chrono>
#include <map>
#include <string>

#include "comm/rank_process.h"

namespace tessera::internal {

class StoppedProcesses {
 public:
  // interval: the time between two looks.
  StoppedProcesses(double timeout_s, std::chrono::milliseconds interval)
      : timeout_(timeout_s), interval_(interval) {}

  // Begins the next look at all of them.
  void BeginLook();
  // Returns "rank 2 (process 4711 on node7) has been stopped for 10 s (SIGSTOP)" once the process
  // has been so for the time-out; "" before, and for any other process.
  std::string LookAt(int rank, const RankProcess& process);

 private:
  using Clock = std::chrono::steady_clock;
  const std::chrono::duration<double> timeout_;
  const std::chrono::milliseconds interval_;
  std::map<pid_t, Clock::time_point> since_;  // when each was first seen so
  Clock::time_point now_ = Clock::now();      // of this look
};

}  // namespace tessera::internal
#endif  // TESSERA_COMM_STOPPED_PROCESSES_H_
