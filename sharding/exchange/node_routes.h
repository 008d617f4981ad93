#ifndef TESSERA_SHARDING_EXCHANGE_NODE_ROUTES_H_
#define TESSERA_SHARDING_EXCHANGE_NODE_ROUTES_H_
// The blocks of columns (dist_layout.h) that return to the rank of the bags, node by node: those of
// the same columns whose rows all lie in one node are one block, summed there. With nodes of one
// rank, each rank returns its blocks itself.
#include <cstdint>
#include <string>
#include <vector>

#include "sharding/exchange/dist_layout.h"

namespace tessera {

// How pooled rows return to the rank of their bags, and gradients to the rows. Sums are the same
// bits in both; sequences, which have none, go directly (or as node/node_dedup.h says).
enum class OutputRoute {
  kAuto,    // by node where that pays (PaysByNode)
  kDirect,  // each rank sends to every other
  kByNode   // inside the node, then one message from node to node (node_exchange.h)
};
std::string ToString(OutputRoute route);  // "auto", "direct", "by_node"
// The inverse. Throws Error, which lists the names, for anything else.
OutputRoute ParseOutputRoute(const std::string& name);

// Columns [column, column + columns) of a feature's embedding, from rows of one node, or of all.
struct NodeBlock {
  // Block `block` of the layout's rank `rank`.
  struct Part {
    int rank = 0, block = 0;
  };
  int feature = 0;
  int64_t row_begin = 0, column = 0, columns = 0;
  std::vector<Part> parts;  // in the order of their rows
};

// [node][block], nodes of layout.local_size ranks.
std::vector<std::vector<NodeBlock>> BlocksOfNodes(const DistLayout& layout);

// Whether what it saves between nodes is worth what it sends inside them. A byte between nodes
// counts as four inside, and every rank as having the same bags.
bool PaysByNode(const DistLayout& layout, int local_size);
// Takes nodes whose ranks return `parts` columns a bag in all, and `sums` after they are added up.
bool PaysByNode(double parts, double sums, int world_size, int local_size);

}  // namespace tessera
#endif  // TESSERA_SHARDING_EXCHANGE_NODE_ROUTES_H_
