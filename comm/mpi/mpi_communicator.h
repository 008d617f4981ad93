#ifndef TESSERA_COMM_MPI_MPI_COMMUNICATOR_H_
#define TESSERA_COMM_MPI_MPI_COMMUNICATOR_H_
// Ranks that are processes under mpirun. MPI moves bytes only; sums are this library's. One thread
// of a process makes all calls of MPI, and sleeps while nothing moves. Tensors of a GPU travel by
// way of pinned host memory (NCCL carries them directly).
//
//   mpirun -n 4 program:
//   int main() { return RunMpiRank({}, [](Communicator& comm) { …; return 0; }); }
//
// SIGTERM, which mpirun sends to the other ranks when one dies, prints the collective that a rank
// is in before it ends the process, unless the program has a handler of its own.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "comm/communicator.h"

namespace tessera {

// A rank that others have found killed, stopped or silent.
struct LostRank {
  int rank = 0;
  std::string what;  // "rank 2 (process 4711 on node7) has been stopped for 10 s (SIGSTOP)"
  bool with_host =
      false;  // it is the first of a host that is silent, whose other ranks are lost, too
};

struct MpiOptions {
  // A thread of its own for MPI: calls move on while the caller computes. Without it they move on
  // while the caller waits for any of them: better where ranks exceed cores.
  bool comm_thread = true;
  // Larger messages are cut into pieces of this many bytes.
  int64_t chunk_bytes = int64_t{1} << 30;
  // Waiting longer for one call throws Error that names the call and the ranks that are missing. 0:
  // never.
  double timeout_s = 0;
  // A rank that is killed or stopped (SIGSTOP) is lost at once, or after this many seconds: every
  // call that waits then throws CommunicatorAborted naming it, and a rank that makes none ends some
  // seconds later. Computing long, a debugger or a busy machine loses nobody. 0: nobody is watched.
  // Between hosts, a host whose first rank is not heard of so long is lost; that needs comm_thread.
  double rank_timeout_s = 10;
  // Called for each rank that this one finds lost, by another thread than the rank's, while calls
  // that wait already fail. It does not throw.
  std::function<void(const LostRank&)> on_loss = nullptr;
  // Makes the line that says the reason of an ErrorOfAllRanks; null: the reason itself.
  std::function<std::string(const ErrorOfAllRanks&)> line_of_all = nullptr;
  // For tests: every rank counts as a host of its own.
  bool hosts_apart = false;
};

// Whether mpirun (or another launcher of MPI) started this process.
bool UnderMpirun();

// This process's rank in the job, as mpirun says; 0 if it does not.
int MpiRank();

// How many ranks the job has, as mpirun says; 0 if it does not.
int MpiSize();
// How many ranks of the job run on this node, as mpirun says; 0 if it does not.
int MpiLocalSize();
// The place of this process's rank among those of its node, as mpirun says; 0 if it does not.
int MpiLocalRank();

// All ranks of the job. The first call starts MPI, the end of the last communicator ends it; MPI
// cannot be started again, so a second group is made by Split. Throws Error for a second call.
std::unique_ptr<Communicator> MakeMpiCommunicator(const MpiOptions& options = {});

// Returns fn(communicator of all ranks). If fn throws, prints the rank and the reason, or on rank 0
// alone that of an ErrorOfAllRanks, and ends the job.
int RunMpiRank(const MpiOptions& options, const std::function<int(Communicator&)>& fn);

}  // namespace tessera
#endif  // TESSERA_COMM_MPI_MPI_COMMUNICATOR_H_
