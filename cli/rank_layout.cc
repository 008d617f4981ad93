#include "cli/rank_layout.h"

#include <algorithm>

#include "comm/mpi/mpi_communicator.h"
#include "runtime/base/report_text.h"

namespace tessera::cli {

std::string NodesError(int ranks, int ranks_per_node) {
  return Format("--ranks-per-node {}: {} do not fill nodes of {}; expected a divisor",
                ranks_per_node, internal::Counted(ranks, "rank"), ranks_per_node);
}

RankLayout RankLayoutSync(Communicator& comm, std::optional<int> asked) {
  if (asked) {
    if (comm.size() % *asked != 0) throw Error(NodesError(comm.size(), *asked));
    return {comm.size(), *asked};
  }
  const int here = UnderMpirun() ? MpiLocalSize() : 0;
  const bool in_its_place =
      here > 0 && comm.size() % here == 0 && comm.rank() % here == MpiLocalRank();
  const std::vector<std::string> sizes =
      comm.GatherStringsSync(in_its_place ? std::to_string(here) : "unknown", "ranks of a node");
  const bool same = std::all_of(sizes.begin(), sizes.end(),
                                [&](const std::string& size) { return size == sizes[0]; });
  return {comm.size(), same && in_its_place ? here : comm.size()};
}

}  // namespace tessera::cli
