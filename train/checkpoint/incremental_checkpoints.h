#ifndef TESSERA_TRAIN_CHECKPOINT_INCREMENTAL_CHECKPOINTS_H_
#define TESSERA_TRAIN_CHECKPOINT_INCREMENTAL_CHECKPOINTS_H_
// Who writes a folder of incremental checkpoints (checkpoint_files.h): a base, then deltas, until
// they are many or large; then a new base. Each file is written beside its name, synced, renamed,
// and the folder synced, before anything older goes: a crash at any time leaves the last whole
// chain. One writer a folder.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/delta_file.h"

namespace tessera {

struct IncrementalOptions {
  // A base follows so many deltas; 0: bases alone.
  int64_t max_deltas = 16;
  // And comes in place of a delta by which the chain's deltas would have more bytes than this share
  // of the base's.
  double max_delta_share = 1;
  int64_t keep = 0;  // chains before the newest one that stay
};

class IncrementalCheckpoints {
 public:
  // Makes the folder, if its parent is there; removes what a writer has left unfinished. Throws
  // Error for options that make no sense, and a folder with other things than checkpoints in it.
  IncrementalCheckpoints(std::string folder, const IncrementalOptions& options = {});

  // The next save is a delta on top of this. REQUIRES: it is the newest of the folder.
  void GoOnFrom(const ChainPosition& position);

  // Whether a save of so many bytes in a delta will be a base instead.
  bool NextIsBase(int64_t delta_bytes) const;
  // Writes the whole state, or what changed of it since the last save: `changed` names the tables'
  // rows. Returns the path of the new file. Throws Error when it can't; the chain is then as it
  // was, or has the new file, if only the removal of older ones failed.
  std::string Write(Context& ctx, const std::vector<NamedTensor>& state,
                    const std::vector<ChangedRows>& changed, const TrainingProgress& progress,
                    const std::string& config);

  const std::string& folder() const { return folder_; }
  // Where the chain stands; absent before the first save.
  const std::optional<ChainPosition>& position() const { return position_; }

 private:
  int64_t NextNumber() const;
  // Writes a file, and removes it if that fails; where the chain then stands.
  ChainPosition Committed(const std::string& path, int64_t number, bool base,
                          const std::function<void()>& write) const;
  ChainPosition PositionAfter(const std::string& path, int64_t number, bool base) const;

  std::string folder_;
  IncrementalOptions options_;
  std::optional<ChainPosition> position_;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_INCREMENTAL_CHECKPOINTS_H_
