#ifndef TESSERA_TRAIN_CHECKPOINT_RANK_CHECKPOINTS_H_
#define TESSERA_TRAIN_CHECKPOINT_RANK_CHECKPOINTS_H_
// Ranks that save incremental checkpoints together in one folder that all see (rank_chain.h): each
// writes its shards, whole or the rows that changed, then rank 0 says that the save counts. A crash
// of any rank at any time leaves the last save that counts. Every rank makes the same calls.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "runtime/context.h"
#include "train/checkpoint/rank_chain.h"

namespace tessera {

class RankCheckpoints {
 public:
  // Makes the folder, if its parent is there; removes what writers have left unfinished, and what
  // never counted. Throws Error on all ranks for options that make no sense, and a folder with
  // other things than checkpoints of ranks in it. `comm` outlives this.
  RankCheckpoints(Communicator& comm, std::string folder, const IncrementalOptions& options = {});

  // The next save is a delta on top of the newest save. REQUIRES: that is what was loaded, by as
  // many ranks, under the same plan.
  void GoOn();

  // This rank's part of the next save; `info` is the same on all. Returns when the save counts.
  // Throws Error on all ranks when one can't write; the save before then still counts, and nothing
  // of this one is left. Throws CommunicatorAborted where a rank is lost: this save counts or the
  // one before.
  void Write(Context& ctx, const CheckpointInfo& info, const RankState& mine,
             const TrainingProgress& progress, const std::string& config);

  // Position of this rank's chain; absent before the first save.
  const std::optional<ChainPosition>& position() const { return position_; }

 private:
  std::string MyFolder() const;
  int64_t NextNumberSync() const;
  bool NextIsBaseSync(Context& ctx, int64_t delta_bytes) const;
  std::vector<std::string> WriteFilesSync(int64_t number, const std::function<std::string()>& mine);
  void Commit(int64_t number, const CheckpointInfo& info,
              const std::vector<std::string>& described) const;

  Communicator& comm_;
  std::string folder_;
  IncrementalOptions options_;
  std::optional<ChainPosition> position_;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_RANK_CHECKPOINTS_H_
