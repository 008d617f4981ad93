#ifndef TESSERA_TRAIN_CHECKPOINT_INCREMENTAL_CHECKPOINTS_H_
#define TESSERA_TRAIN_CHECKPOINT_INCREMENTAL_CHECKPOINTS_H_
// Who writes a folder of incremental checkpoints (checkpoint_files.h): a base, then deltas, until
// they are many or large; then a new base. Each file is written beside its name, synced, renamed,
// and the folder synced, before anything older goes: a crash at any time leaves the last whole
// chain. One writer a folder; ranks have rank_checkpoints.h.
#include <optional>
#include <string>

#include "runtime/context.h"
#include "train/checkpoint/chain_writer.h"

namespace tessera {

class IncrementalCheckpoints {
 public:
  // Makes the folder, if its parent is there; removes what a writer has left unfinished. Throws
  // Error for options that make no sense, and a folder with other things than checkpoints in it.
  IncrementalCheckpoints(std::string folder, const IncrementalOptions& options = {});

  // The next save is a delta on top of this. REQUIRES: it is the newest of the folder.
  void GoOnFrom(const ChainPosition& position);

  // Writes the whole state, or what changed of it since the last save. Returns the path of the new
  // file. Throws Error when it can't; the chain is then as it was, or has the new file, if only the
  // removal of older ones failed.
  std::string Write(Context& ctx, const ChainState& saved);

  const std::string& folder() const { return folder_; }
  // Position of the chain; absent before the first save.
  const std::optional<ChainPosition>& position() const { return position_; }

 private:
  int64_t NextNumber() const;

  std::string folder_;
  IncrementalOptions options_;
  std::optional<ChainPosition> position_;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_INCREMENTAL_CHECKPOINTS_H_
