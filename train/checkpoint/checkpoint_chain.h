#ifndef TESSERA_TRAIN_CHECKPOINT_CHECKPOINT_CHAIN_H_
#define TESSERA_TRAIN_CHECKPOINT_CHECKPOINT_CHAIN_H_
// A base and the deltas after it (checkpoint_files.h) as one checkpoint: a row of a table is that
// of the last file that has it, everything else that of the last file. Memory: 8 bytes a changed
// row.
#include <string>

#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/checkpoint_files.h"

namespace tessera {

// The newest chain of a folder. Throws Error, naming the file, where one is missing, corrupt, or
// does not follow the one before it.
Checkpoint ReadChain(const std::string& folder);
// Reads a chain that need not be the newest.
Checkpoint ReadChain(const ChainFiles& files);

// Position of a chain; only the metadata of its last file are read.
ChainPosition ReadPosition(const ChainFiles& files);

// Makes a base of the newest chain of a folder; a chain without deltas stays. Then only `keep`
// chains before it are left. Returns the path of the base. Throws Error as ReadChain, and for a
// negative `keep`.
std::string CompactChain(const std::string& folder, int64_t keep = 0);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_CHECKPOINT_CHAIN_H_
