#ifndef TESSERA_TRAIN_CHECKPOINT_EXPORT_CHECKPOINT_H_
#define TESSERA_TRAIN_CHECKPOINT_EXPORT_CHECKPOINT_H_
// A sharded checkpoint as one file of the unsharded format (checkpoint.h): whole tables under the
// names of the model's state dict, what ranks had alike, metadata.
#include <string>

#include "sharding/reshard_checkpoint.h"

namespace tessera {

struct ExportOptions {
  bool optimizer_state = true;  // else weights alone, without a place in a training
  CheckpointProgress progress = nullptr;
};

// Writes beside `path` and renames, a few megabytes at a time. Throws Error for bytes that are not
// what was saved, and when it can't write.
void ExportCheckpoint(ShardedCheckpoint& from, const std::string& path,
                      const ExportOptions& options = {});

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_EXPORT_CHECKPOINT_H_
