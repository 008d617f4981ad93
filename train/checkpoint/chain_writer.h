#ifndef TESSERA_TRAIN_CHECKPOINT_CHAIN_WRITER_H_
#define TESSERA_TRAIN_CHECKPOINT_CHAIN_WRITER_H_
// The next file of a chain (checkpoint_files.h): when it is a base, and its writing. What one
// process does with one chain (incremental_checkpoints.h), and ranks with one each
// (rank_checkpoints.h).
#include <optional>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/delta_file.h"

namespace tessera {

struct IncrementalOptions {
  // A base follows so many deltas; 0: bases alone.
  int64_t max_deltas = 16;
  // A whole checkpoint is also written in place of a delta by which the chain's deltas would have
  // more bytes than this share of the base's.
  double max_delta_share = 1;
  int64_t keep = 0;  // chains before the newest one that stay
};

// The content of a file: the whole state, and which rows of its tables have changed since the file
// before.
struct ChainState {
  std::vector<NamedTensor> state;
  std::vector<ChangedRows> changed;
  TrainingProgress progress;
  std::string config;
};

// Throws Error for options that make no sense.
void CheckOptions(const IncrementalOptions& options);

// Makes the folder, if its parent is there; removes what a writer has left unfinished.
void MakeChainFolder(const std::string& folder);

// Whether a save of so many bytes in a delta will be a base instead. position: where the chain
// stands; absent before the first save.
bool NextIsBase(const IncrementalOptions& options, const std::optional<ChainPosition>& position,
                int64_t delta_bytes);

// Writes file `number`, a base or the delta after `position`, and says where the chain then stands.
// Throws Error when it can't, and leaves no such file.
ChainPosition WriteChainFile(Context& ctx, const std::string& folder, int64_t number, bool base,
                             const std::optional<ChainPosition>& position, const ChainState& saved);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_CHAIN_WRITER_H_
