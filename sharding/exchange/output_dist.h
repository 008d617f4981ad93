#ifndef TESSERA_SHARDING_EXCHANGE_OUTPUT_DIST_H_
#define TESSERA_SHARDING_EXCHANGE_OUTPUT_DIST_H_
// Sends looked-up rows to the ranks that their bags came from, and gradients back: one exchange
// each. The backward of the forward's exchange is the same exchange, turned around.
//
//   message from a rank   its blocks (DistLayout), one after another: pooled [bags, columns], or of
//                         a sequence [ids, columns], f32
//
// At home partial sums are added in the order of the rows, divided where a MEAN was split over
// rows, and blocks of columns joined. Features of tables that every rank holds join here, too.
// Where ranks of a node return rows together (node_exchange.h), messages come from nodes.
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "embedding/table_batched_embedding.h"
#include "quant/wire_codec.h"
#include "runtime/context.h"
#include "sharding/exchange/input_dist.h"
#include "sharding/exchange/node_exchange.h"

namespace tessera {

// Form of the outputs on the rank of the bags; the same for every batch.
struct OutputForm {
  std::shared_ptr<const DistLayout> layout;
  std::vector<std::vector<NodeBlock>> nodes;    // BlocksOfNodes(*layout)
  std::shared_ptr<const NodeExchange> by_node;  // where layout->local_size is above 1
  bool sequences = false;
  struct Feature {
    std::string key;
    int64_t dim = 0;
    bool divided = false;  // MEAN of a table whose rows are split
    int replica = -1;      // which feature of the replicated tables it is, or −1
  };
  std::vector<Feature> features;
  DType output_type = DType::kF32;
  float max_gradient = 0;  // above 0: incoming gradients are clamped to ± this
  WireCodecs codecs = {};  // of rows between ranks, and of their gradients
};

// away: outputs of this rank's tables for all ranks' bags, in the flat order of a batch a rank
// (undefined without tables). replicas: outputs of the replicated tables for this rank's own bags,
// in the same order. Returns, for this rank's own bags: pooled, one matrix [B, ΣD] (with inverse
// indices, of all examples; without, where keys have batches of their own, flat); sequences, one
// [N_f, D] a feature. A rank without tables takes the way back of the input_dist's weights, too.
Awaitable<std::vector<Variable>> StartOutputDist(Context& ctx,
                                                 std::shared_ptr<const OutputForm> form,
                                                 Communicator& comm, const InputDist& input,
                                                 const KeyedJaggedTensor& kjt,
                                                 EmbeddingOutputs away, EmbeddingOutputs replicas);

}  // namespace tessera
#endif  // TESSERA_SHARDING_EXCHANGE_OUTPUT_DIST_H_
