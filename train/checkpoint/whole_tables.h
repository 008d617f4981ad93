#ifndef TESSERA_TRAIN_CHECKPOINT_WHOLE_TABLES_H_
#define TESSERA_TRAIN_CHECKPOINT_WHOLE_TABLES_H_
// A folder that ranks saved as a checkpoint of whole tables, as a training without ranks saves it:
// the same names, the same bytes. A number a row of which column blocks have one each is their mean
// (sharding/checkpoint/checkpoint_rows.h).
#include <string>

#include "sharding/checkpoint/checkpoint.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera {

// Bytes are checked when they are read. `from` outlives it.
Checkpoint WholeTables(ShardedCheckpoint& from);

// Opens what ranks saved, whole or incrementally (rank_chain.h). Throws Error as their readers do.
ShardedCheckpoint OpenFolderOfRanks(const std::string& folder);

// Whether optimizer state is there.
bool HasOptimizerState(const CheckpointIndex& index);

// Its whole tables, found whole: all bytes were read and checked once.
Checkpoint ReadFolderOfRanks(const std::string& folder);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_WHOLE_TABLES_H_
