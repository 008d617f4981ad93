#ifndef TESSERA_SHARDING_EXCHANGE_NODE_EXCHANGE_H_
#define TESSERA_SHARDING_EXCHANGE_NODE_EXCHANGE_H_
// The output dist of pooled rows over ranks of several nodes, in two steps: inside a node, each
// rank collects the rows for those ranks of all nodes that have its own place, and adds up the
// parts of tables whose rows lie in the node; then one message goes from node to node. Gradients
// come once a node, and are spread inside.
//
//   direct    a rank sends R - 1 messages, of its own blocks
//   by node   L - 1 inside the node of L ranks, and R/L - 1 between nodes, of the node's blocks
//
// The parts are added in the order of the rows, as at home, so the bits are the same. Wire codecs
// are for what goes from node to node; inside a node rows travel as f32.
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "quant/wire_codec.h"
#include "runtime/context.h"
#include "runtime/tensor.h"
#include "sharding/exchange/column_blocks.h"
#include "sharding/exchange/float_exchange.h"
#include "sharding/exchange/node_routes.h"

namespace tessera {

class NodeExchange {
 public:
  // Splits `comm` by layout.local_size; every rank calls. The communicator outlives it.
  NodeExchange(Communicator& comm, std::shared_ptr<const DistLayout> layout);

  // Bags of each feature of the ranks with this rank's place, by node.
  using NodeBags = std::vector<std::vector<int64_t>>;

  // away[q]: this rank's blocks for the bags of rank q. Returns, by node, the node's blocks for
  // this rank's bags, whose shapes are `home`. Waits for this node's ranks.
  Awaitable<std::vector<Tensor>> StartHome(Context& ctx, const std::vector<Tensor>& away,
                                           const NodeBags& bags, const WireCodec& codec,
                                           std::vector<MessageShapes> home,
                                           const std::string& what) const;
  // The way back: `home`, by node, are gradients of what StartHome returned. Returns those of
  // away[q], each of sizes[q] elements. Waits.
  std::vector<Tensor> ToRows(Context& ctx, std::vector<Tensor> home,
                             const std::vector<MessageShapes>& shapes, const NodeBags& bags,
                             const WireCodec& codec, const std::vector<int64_t>& sizes,
                             const std::string& what) const;

  // Bytes that this rank has sent to ranks of its node, and of other nodes.
  int64_t bytes_inside() const { return inside_->bytes_sent(); }
  int64_t bytes_between() const { return between_->bytes_sent(); }

 private:
  // Messages between this rank and each of its node: the blocks of that one's rows, for the bags of
  // the ranks with this rank's place, node after node.
  struct Parts {
    std::vector<Tensor> messages;
    std::vector<std::vector<std::vector<float*>>> blocks;  // [rank of this node][node][block]
  };
  Parts PlacesIn(std::vector<Tensor> messages, const NodeBags& bags) const;
  std::vector<int64_t> InsideCounts(const NodeBags& bags) const;
  std::vector<MessageShapes> BetweenShapes(const NodeBags& bags) const;
  // The node's blocks in `messages`, by node, and the parts that they are sums of.
  std::vector<ColumnBlock> Sums(const std::vector<Tensor>& messages, const Parts& parts,
                                const NodeBags& bags) const;

  size_t nodes() const { return static_cast<size_t>(between_->size()); }
  size_t local_size() const { return static_cast<size_t>(inside_->size()); }
  size_t first_rank() const { return static_cast<size_t>(between_->rank()) * local_size(); }

  std::shared_ptr<const DistLayout> layout_;
  std::vector<NodeBlock> mine_;  // of this node
  std::unique_ptr<Communicator> inside_, between_;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_EXCHANGE_NODE_EXCHANGE_H_
