#ifndef TESSERA_SHARDING_CHECKPOINT_RESHARD_CHECKPOINT_H_
#define TESSERA_SHARDING_CHECKPOINT_RESHARD_CHECKPOINT_H_
// A sharded checkpoint written anew under another plan, by one process, a few megabytes at a time:
// tables need not fit into memory.
#include <functional>
#include <string>

#include "sharding/checkpoint/checkpoint_writer.h"

namespace tessera {

// Bytes written so far, and in all.
using CheckpointProgress = std::function<void(int64_t done, int64_t total)>;

// Writes `from` to the folder `to` as if ranks of `plan` had saved it: weights, states, whole
// tensors, metadata. Throws Error for a plan of other tables, for bytes that are not what was
// saved, and when it can't write.
void ReshardCheckpoint(ShardedCheckpoint& from, const ShardingPlan& plan, const std::string& to,
                       const CheckpointProgress& progress = nullptr);

// Streams that tell how far they have come, together.
class StreamProgress {
 public:
  explicit StreamProgress(CheckpointProgress progress) : progress_(std::move(progress)) {}
  // Returns the tensor; its bytes count towards the total, and towards what is done as they are
  // made. This must outlive it.
  StreamedTensor Watch(StreamedTensor tensor);

 private:
  CheckpointProgress progress_;
  int64_t done_ = 0, total_ = 0;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_CHECKPOINT_RESHARD_CHECKPOINT_H_
