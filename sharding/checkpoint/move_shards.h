#ifndef TESSERA_SHARDING_CHECKPOINT_MOVE_SHARDS_H_
#define TESSERA_SHARDING_CHECKPOINT_MOVE_SHARDS_H_
// One table's weights or states from the ranks that hold them under one sharding to those that hold
// them under another: the rectangles that an old and a new shard share, in one exchange. States of
// one number a row follow checkpoint_rows.h.
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "runtime/context.h"
#include "sharding/checkpoint/checkpoint.h"
#include "sharding/plan/plan.h"

namespace tessera {

enum class ShardPart { kWeights, kStates };

// Ranks of a table's shards, and the shards (of this and other tables) that this rank holds.
struct PlacedShards {
  TableSharding sharding;
  std::vector<ShardTensors> held;
};

// Writes into the tensors of `to`. Every rank calls. REQUIRES: both cover the table; tensors of one
// shape and dtype a rectangle.
void MoveShards(Context& ctx, Communicator& comm, const std::string& table,
                const PlacedShards& from, const PlacedShards& to, ShardPart part);

}  // namespace tessera
#endif  // TESSERA_SHARDING_CHECKPOINT_MOVE_SHARDS_H_
