#include "comm/mpi/mpi_beats.h"

#include <set>

#include "runtime/base/check.h"

namespace tessera::internal {

MpiBeats::MpiBeats(MPI_Comm comm, char kind, int rank, const std::vector<RankProcess>& ranks,
                   double timeout_s)
    : comm_(comm), kind_(kind), timeout_(timeout_s) {
  std::set<std::string> hosts;
  bool is_first = false;
  for (int r = 0; r < static_cast<int>(ranks.size()); ++r) {
    const RankProcess& process = ranks[static_cast<size_t>(r)];
    if (!hosts.insert(process.host).second) continue;
    if (r == rank)
      is_first = true;
    else
      peers_.push_back({.rank = r, .name = NameOf(r, process)});
  }
  if (!is_first) peers_.clear();
}

std::optional<MpiBeats::Silent> MpiBeats::Step() {
  const Clock::time_point now = Clock::now();
  if (peers_.empty() || now - last_ < timeout_ / 10) return {};
  // If this process was stopped, or was kept from this loop, it has not listened.
  const bool was_away = now - last_ > timeout_ / 2;
  last_ = now;
  for (Peer& peer : peers_) {
    if (peer.left) continue;
    if (was_away) peer.heard = now;
    if (now - peer.heard > timeout_)
      return Silent{peer.rank,
                    Format("{} has not been heard of for {} s", peer.name, timeout_.count())};
    Send(peer);
  }
  return {};
}

void MpiBeats::Send(Peer& peer) {
  int done = 1;
  if (peer.sending != MPI_REQUEST_NULL)
    TESSERA_MPI_CHECK(MPI_Test(&peer.sending, &done, MPI_STATUS_IGNORE));
  if (done) TESSERA_MPI_CHECK(MPI_Isend(&kind_, 1, MPI_BYTE, peer.rank, 0, comm_, &peer.sending));
}

void MpiBeats::Heard(int rank) {
  for (Peer& peer : peers_)
    if (peer.rank == rank) peer.heard = Clock::now();
}

void MpiBeats::Left(int rank) {
  for (Peer& peer : peers_)
    if (peer.rank == rank) peer.left = true;
}

void MpiBeats::Finish() {
  for (Peer& peer : peers_)
    if (peer.sending != MPI_REQUEST_NULL)
      TESSERA_MPI_CHECK(MPI_Wait(&peer.sending, MPI_STATUS_IGNORE));
}

}  // namespace tessera::internal
