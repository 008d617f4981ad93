#ifndef TESSERA_COMM_MPI_MPI_START_WATCH_H_
#define TESSERA_COMM_MPI_MPI_START_WATCH_H_
// A thread that watches the job's other ranks on this host while MPI starts, which waits for all of
// them: one that is stopped keeps the others for ever. They do not know each other's processes yet;
// it finds them by what PMIx launchers (Open MPI's mpirun, Slurm) put into their environments.
// Where that cannot be read, and for ranks on other hosts, it does nothing. mpirun itself ends a
// job in which a process fails before it has started MPI. It does not end one in which a process
// ends with 0, for which the others wait for ever: a program whose other ranks start MPI has to
// start it too, or to end with another code.
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "comm/mpi/mpi_communicator.h"
#include "comm/stopped_processes.h"

namespace tessera::internal {

class MpiStartWatch {
 public:
  // Once a rank has been stopped (SIGSTOP) for `timeout_s`, calls on_loss, unless it is null, says
  // which, and ends this process. `timeout_s` 0: watches nobody.
  MpiStartWatch(double timeout_s, std::function<void(const LostRank&)> on_loss);
  // MPI has started.
  ~MpiStartWatch();
  MpiStartWatch(const MpiStartWatch&) = delete;
  MpiStartWatch& operator=(const MpiStartWatch&) = delete;

 private:
  void Watch();
  // The first rank that is lost, if one is.
  std::optional<LostRank> Look();

  const std::chrono::milliseconds interval_;
  StoppedProcesses stopped_;
  const std::function<void(const LostRank&)> on_loss_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool started_ = false;
  std::thread thread_;
};

}  // namespace tessera::internal
#endif  // TESSERA_COMM_MPI_MPI_START_WATCH_H_
