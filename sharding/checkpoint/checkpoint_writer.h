#ifndef TESSERA_SHARDING_CHECKPOINT_CHECKPOINT_WRITER_H_
#define TESSERA_SHARDING_CHECKPOINT_CHECKPOINT_WRITER_H_
// The steps of saving a sharded checkpoint (checkpoint.h), for whoever brings ranks together:
//
//   1. NextSave       one rank; the number goes to all
//   2. WritePart      every rank; its text goes to that rank
//   3. CommitSave     that rank, when all have written: from now on this save counts
//
// save_checkpoint.h does them with a Communicator.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "runtime/named_parameter.h"
#include "sharding/checkpoint/checkpoint.h"

namespace tessera {

// Makes the folder if it is not there. The number of a save that no file in it has. Throws Error if
// it can't.
int64_t NextSave(const std::string& folder);

// Whether a folder has files that WritePart writes, of a save that counts or of none.
bool HoldsParts(const std::string& folder);

// A shard that is written from streams.
struct ShardStreams {
  std::string table;
  Shard shard;
  StreamedTensor weights;
  struct State {
    std::string name;
    bool per_row = false;
    StreamedTensor tensor;
  };
  std::vector<State> states;
  std::optional<StartedRows> started = {};  // the streams give the rows of its runs alone
};
// REQUIRES: contiguous, of the host or on ctx's device. Throws Error for shapes that are not the
// shard's.
ShardStreams MakeStreams(Context& ctx, const ShardTensors& shard);

// Whether rank `rank`, which has the shard, writes it: one without rows nobody, one of a
// data-parallel table one rank of all. Throws Error for a table that the plan lacks.
bool IsWritten(const ShardingPlan& plan, const std::string& table, const Shard& shard, int rank);

// Writes rank `rank`'s file of a save; what it says of it is for CommitSave. Shards that IsWritten
// denies are passed over. `whole` are tensors that all ranks have alike: rank 0 writes them. `own`
// are tensors that this rank alone has. Throws Error when the file cannot be written (a full disk),
// and then leaves none.
std::string WritePart(const std::string& folder, int64_t save, int rank, const ShardingPlan& plan,
                      std::vector<ShardStreams> shards,
                      std::map<std::string, StreamedTensor> whole = {},
                      std::map<std::string, StreamedTensor> own = {});
// Removes it, if it is there. REQUIRES: nobody commits this save. Does not throw.
void DiscardPart(const std::string& folder, int64_t save, int rank) noexcept;

// Writes the index, by renaming; then removes files of other saves. Throws Error for parts that are
// not all of the plan, and when it can't; the save before then still counts.
void CommitSave(const std::string& folder, int64_t save, const CheckpointInfo& info,
                const std::vector<std::string>& parts);

}  // namespace tessera
#endif  // TESSERA_SHARDING_CHECKPOINT_CHECKPOINT_WRITER_H_
