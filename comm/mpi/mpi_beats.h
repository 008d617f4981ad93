#ifndef TESSERA_COMM_MPI_MPI_BEATS_H_
#define TESSERA_COMM_MPI_MPI_BEATS_H_
// Heartbeats between hosts. The first rank of each host sends the first of every other a byte, ten
// times a time-out; who is not heard of for the time-out is lost. (A host's other ranks are watched
// there: rank_watch.h.) Used by the thread of MPI alone.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "comm/mpi/mpi_check.h"
#include "comm/rank_process.h"

namespace tessera::internal {

class MpiBeats {
 public:
  // `ranks`: of the whole job; `comm` carries the bytes, of which the first is `kind`.
  MpiBeats(MPI_Comm comm, char kind, int rank, const std::vector<RankProcess>& ranks,
           double timeout_s);

  // The first rank of a host that is silent.
  struct Silent {
    int rank;
    std::string what;  // "rank 2 (process 4711 on node7) …"
  };
  // Sends what is due, and says who is lost.
  std::optional<Silent> Step();
  void Heard(int rank);
  // It sends no more, and is not waited for.
  void Left(int rank);
  // Waits for what was sent.
  void Finish();

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    int rank;
    std::string name;
    MPI_Request sending = MPI_REQUEST_NULL;
    Clock::time_point heard = Clock::now();
    bool left = false;
  };
  void Send(Peer& peer);

  const MPI_Comm comm_;
  const char kind_;
  const std::chrono::duration<double> timeout_;
  std::vector<Peer> peers_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace tessera::internal
#endif  // TESSERA_COMM_MPI_MPI_BEATS_H_
