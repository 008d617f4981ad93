#ifndef TESSERA_SERVE_EXPORT_MODEL_MEMORY_H_
#define TESSERA_SERVE_EXPORT_MODEL_MEMORY_H_
// The memory that a model directory takes where it is served, and where it is written, before it is
// taken. What is mapped is not counted: it may be larger than memory. What tables may grow by is
// counted up to their cap, in the two copies that deltas change in turn; batches are estimates.
#include <cstdint>
#include <vector>

#include "runtime/base/memory_limit.h"
#include "serve/export/model_writer.h"

namespace tessera::serve {

// Calls that run beside one another, and the examples of each.
struct ServingLoad {
  int calls = 1;
  int64_t examples = 1;
};

std::vector<MemoryPart> MemoryOfServing(const ModelSpec& spec, const ServingLoad& load);
// Throws Error where that is more than there is; it says what would fit.
void CheckServingMemory(const ModelSpec& spec, const ServingLoad& load, const MemoryThere& there);

// Memory of WriteModel: state of raw ids that it holds while it streams the rows, of which
// `checkpoint` says how many are in use. Throw Error for a checkpoint that is not the
// configuration's.
std::vector<MemoryPart> MemoryOfWriting(const Checkpoint& checkpoint, const TrainConfig& config,
                                        const WriteModelOptions& options);
void CheckWritingMemory(const Checkpoint& checkpoint, const TrainConfig& config,
                        const WriteModelOptions& options, const MemoryThere& there);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_EXPORT_MODEL_MEMORY_H_
