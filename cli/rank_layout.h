#ifndef TESSERA_CLI_RANK_LAYOUT_H_
#define TESSERA_CLI_RANK_LAYOUT_H_
// Which ranks share a node, as far as mpirun says.
#include <optional>
#include <string>

#include "comm/communicator.h"
#include "sharding/plan/plan_makers.h"

namespace tessera::cli {

// All ranks, and those of one node, where nodes are runs of as many consecutive ranks each; else,
// and for threads of one process, all ranks count as one node. Every rank calls. asked: of one node
// in any case; throws Error where they are no divisor of all ranks.
RankLayout RankLayoutSync(Communicator& comm, std::optional<int> asked = std::nullopt);

// The error about a --ranks-per-node that is no divisor of the ranks.
std::string NodesError(int ranks, int ranks_per_node);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_RANK_LAYOUT_H_
