#ifndef TESSERA_SHARDING_CHECKPOINT_SAVE_CHECKPOINT_H_
#define TESSERA_SHARDING_CHECKPOINT_SAVE_CHECKPOINT_H_
// A sharded checkpoint saved by the ranks of a group, together.
#include <span>
#include <string>

#include "comm/communicator.h"
#include "runtime/context.h"
#include "sharding/checkpoint/checkpoint_writer.h"

namespace tessera {

// Writes a save to a folder that all ranks see: `shards` are this rank's, `whole` is the same on
// all (dense parameters; rank 0's are written), `own` this rank's alone, under names that no other
// rank uses. Every rank calls; returns on all when the save counts.
// If any rank can't write, every rank throws Error, which names the rank and the reason; the save
// before still counts, and nothing of this one is left. Throws CommunicatorAborted where a rank is
// lost: this save counts or the one before.
void SaveShardedCheckpoint(Context& ctx, Communicator& comm, const std::string& folder,
                           const CheckpointInfo& info, std::span<const ShardTensors> shards,
                           std::span<const NamedTensor> whole = {},
                           std::span<const NamedTensor> own = {});

}  // namespace tessera
#endif  // TESSERA_SHARDING_CHECKPOINT_SAVE_CHECKPOINT_H_
