#ifndef TESSERA_SERVE_EXPORT_DELTA_WRITER_H_
#define TESSERA_SERVE_EXPORT_DELTA_WRITER_H_
// Writes the next delta (model_delta.h) of a model directory, from a newer checkpoint of the same
// training: every row is encoded as the directory's were, and those that differ from its newest
// version are written. Base and deltas are then, byte for byte, what an export of the checkpoint
// would be; tables that were pruned keep the rows that they have. In memory: the rows that differ,
// and the raw ids.
#include <optional>
#include <string>
#include <vector>

#include "quant/quantize_table.h"
#include "runtime/context.h"
#include "serve/model_chain.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/train_config.h"

namespace tessera::serve {

struct TableChange {
  TableSpec spec;       // afterwards
  int64_t changed = 0;  // stored rows that differ or are new
  int64_t added = 0;    // of them, new
  int64_t ids_set = 0, ids_removed = 0;
};

struct WrittenDelta {
  std::string path;
  int64_t version = 0;
  std::vector<TableChange> tables;
};

// The delta that follows `chain`, into its directory; the chain then takes it. Throws Error as
// WriteModel does, and where the checkpoint is of a model that a delta cannot lead to; the
// directory is then as it was. One writer at a time.
WrittenDelta WriteDelta(Context& ctx, const Checkpoint& checkpoint,
                        const std::optional<TrainConfig>& config, ModelChain& chain,
                        NanPolicy nan = NanPolicy::kError);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_EXPORT_DELTA_WRITER_H_
