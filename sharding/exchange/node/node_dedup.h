#ifndef TESSERA_SHARDING_EXCHANGE_NODE_NODE_DEDUP_H_
#define TESSERA_SHARDING_EXCHANGE_NODE_NODE_DEDUP_H_
// Each id of a table once a batch and node, for sequences over ranks of several nodes
// (IdDedup::kNode): it leaves its node once, and its row comes back once for all ranks of the node.
//
//   ids         of each rank, made distinct (dedup.h)
//     inside    to the rank of the node that has the place of the rows' rank
//               made distinct among the ranks of the node
//     between   to the rank of the rows, a message a node
//   rows        the same way back: between nodes once, then spread inside
//   gradients   the way of the ids: summed on their rank, then on the rank in the middle in the
//               order of the node's ranks, then between nodes; the update adds up the nodes' sums
//               in the order of the nodes
//
// Rows have the bits of the other ways. Updates have those of these sums, whose order depends on
// which ranks share a node: under IdDedup::kRank the update adds up all ranks' sums one after
// another.
//
// Between nodes no more bytes travel than under kRank, and fewer where ranks of a node share ids.
// Inside, rows and gradients of other nodes pass through one more rank. A rank sends
// L - 1 + R/L - 1 messages in place of R - 1. Wire codecs are for what goes from node to node.
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "embedding/table_batched_embedding.h"
#include "runtime/context.h"
#include "sharding/exchange/dedup.h"
#include "sharding/exchange/input_dist.h"
#include "sharding/exchange/output_dist.h"

namespace tessera {

// One batch, on the rank between the ids of its node and the ranks of the rows.
struct NodeIds {
  std::shared_ptr<const DistLayout> inside_layout, between_layout;
  InputDist inside;     // of the distinct ids of each rank of the node
  DedupedIds distinct;  // of what came by it: a "table" is a stream of inside_layout
};

class NodeDedup {
 public:
  // form: of tables whose rows return directly, on all ranks. Nodes have local_size ranks. Every
  // rank calls. The communicator outlives it.
  NodeDedup(Communicator& comm, const OutputForm& form, int local_size);

  // Makes the groups of StartInputDist over `comm`. Every rank calls.
  void PrepareInputDist(Communicator& comm) const;
  // Sends `ids` over `comm`, a group of the same ranks. What comes has a batch a node in the place
  // of one a rank, and node_ids(). Waits for the ranks of this node.
  Awaitable<InputDist> StartInputDist(Context& ctx, Communicator& comm,
                                      std::shared_ptr<const DedupedIds> ids) const;
  // Like StartOutputDist of output_dist.h, for such an input. Waits for the ranks with this one's
  // place.
  Awaitable<std::vector<Variable>> StartOutputDist(Context& ctx, const InputDist& input,
                                                   EmbeddingOutputs away,
                                                   EmbeddingOutputs replicas) const;

 private:
  Communicator& comm_;
  int local_size_;
  std::shared_ptr<const OutputForm> inside_, between_;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_EXCHANGE_NODE_NODE_DEDUP_H_
