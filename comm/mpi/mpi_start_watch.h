#ifndef TESSERA_COMM_MPI_MPI_START_WATCH_H_
#define TESSERA_COMM_MPI_MPI_START_WATCH_H_
// A thread that watches the job's other ranks on this host while MPI starts, which waits for all
// of them: one that is stopped, or has ended, keeps the others for ever. Ranks do not know each
// other's processes yet; it finds them as FindJobProcesses does. Where they cannot be seen, and
// for ranks on other hosts, it does nothing. mpirun itself ends a job in which a process fails
// before it has started MPI, or ends with 0 after another has started it; not one in which a
// process ends with 0 before.
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "comm/mpi/job_processes.h"
#include "comm/mpi/mpi_communicator.h"
#include "comm/stopped_processes.h"

namespace tessera::internal {

class MpiStartWatch {
 public:
  // Once a rank has been stopped (SIGSTOP), or has had no process, for `timeout_s`, says which it
  // is, and ends this process. Before, it calls on_loss, unless that is null, with a rank that has
  // been stopped; one without a process may have ended since another was lost. `timeout_s` 0:
  // watches nobody.
  MpiStartWatch(double timeout_s, std::function<void(const LostRank&)> on_loss);
  // MPI has started.
  ~MpiStartWatch();
  MpiStartWatch(const MpiStartWatch&) = delete;
  MpiStartWatch& operator=(const MpiStartWatch&) = delete;

 private:
  struct Lost {
    std::optional<int> rank;  // for on_loss
    std::string what;
  };
  void Watch();
  // The first rank that is lost, if one is.
  std::optional<Lost> Look();
  std::optional<Lost> LookForStopped(const JobProcesses& job);
  std::optional<Lost> LookForEnded(const JobProcesses& job);

  const double timeout_s_;
  const std::chrono::milliseconds interval_;
  StoppedProcesses stopped_;
  std::map<int, int> absent_;  // local rank → looks in a row that have seen none of its processes
  const std::function<void(const LostRank&)> on_loss_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool started_ = false;
  std::thread thread_;
};

}  // namespace tessera::internal
#endif  // TESSERA_COMM_MPI_MPI_START_WATCH_H_
