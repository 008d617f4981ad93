#ifndef TESSERA_TRAIN_TRAINING_MEMORY_H_
#define TESSERA_TRAIN_TRAINING_MEMORY_H_
// The memory of the host, or of a GPU, that a training takes, from its configuration, before
// anything is filled.
// Tables and states are counted exactly (embedding/table/table_memory.h); what managed collision
// knows of ids, the dense part with its gradients and states, and a batch's activations, ids and
// gradients are estimates.
#include <vector>

#include "embedding/table/table_memory.h"
#include "runtime/base/memory_limit.h"
#include "sharding/plan/plan.h"
#include "train/config/train_config.h"

namespace tessera {

// Whose memory is counted.
enum class MemoryOf {
  kHost,        // of ranks that work on the CPU
  kHostOfGpus,  // of ranks that work on GPUs, where tables at DEVICE and caches of rows lie
  kGpu
};
struct TrainingPlace {
  const ShardingPlan* plan = nullptr;  // null: one rank has all of it
  // Ranks of the plan that share this memory; one that several sharding groups have here is there
  // as often.
  std::vector<int> ranks = {0};
  MemoryOf memory = MemoryOf::kHost;
  int groups = 1;  // sharding groups, each of which has the plan's ranks
};

struct TrainingMemory {
  std::vector<TableMemory> tables;
  double ids = 0;    // of managed collision
  double dense = 0;  // parameters, gradients, states, how often items come, on each rank
  double batch = 0;  // of the host alone

  // Bytes of the largest table that is filled from a copy, or cache that is copied.
  double making() const;
  double total() const;
};

TrainingMemory MemoryOfTraining(const TrainConfig& config, const TrainingPlace& place = {});

std::vector<MemoryPart> PartsOf(const TrainingMemory& memory);

// Throws Error where that is more than there is; it says which tables are the largest, and what
// would fit: fewer rows, rows of 16 bits, tables elsewhere, more machines or GPUs.
void CheckTrainingMemory(const TrainConfig& config, const TrainingPlace& place,
                         const MemoryThere& there);

}  // namespace tessera
#endif  // TESSERA_TRAIN_TRAINING_MEMORY_H_
