#ifndef TESSERA_TRAIN_CHECKPOINT_AS_OF_RANKS_H_
#define TESSERA_TRAIN_CHECKPOINT_AS_OF_RANKS_H_
// A checkpoint of whole tables as one of ranks: of one rank, which holds every table, so that ranks
// load it under any plan, and it is resharded, as any other. Each rank reads its parts alone.
#include "sharding/checkpoint/checkpoint.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/train_config.h"

namespace tessera {

// config: whose tables they are. Throws Error for a table that the checkpoint lacks, or has not as
// rows. A table without optimizer state is one of no states.
ShardedCheckpoint AsOfRanks(Checkpoint checkpoint, const TrainConfig& config);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_AS_OF_RANKS_H_
