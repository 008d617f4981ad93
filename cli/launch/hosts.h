#ifndef TESSERA_CLI_LAUNCH_HOSTS_H_
#define TESSERA_CLI_LAUNCH_HOSTS_H_
// The hosts of ranks, as a hostfile of Open MPI names them, one a line:
//
//   # a comment
//   node1 slots=4
//   node2 slots=2
//
// Ranks fill the slots in order (mpirun --map-by slot): here ranks 4 and 5 run on node2.
#include <string>
#include <vector>

#include "comm/mpi/mpi_communicator.h"

namespace tessera::cli {

struct HostSlots {
  std::string host;
  int slots = 0;
};

// Throws Error, with path and line, for a line of another form, a host given twice, and a file
// without hosts.
std::vector<HostSlots> ReadHostfile(const std::string& path);
std::string HostfileText(const std::vector<HostSlots>& hosts);

int RanksOf(const std::vector<HostSlots>& hosts);

// The slots that are left when each lost rank takes its own with it, or all of its host. A host
// without slots is left out.
std::vector<HostSlots> WithoutLost(const std::vector<HostSlots>& hosts,
                                   const std::vector<LostRank>& lost);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_LAUNCH_HOSTS_H_
