#ifndef TESSERA_TRAIN_RUN_MEASURE_MEMORY_H_
#define TESSERA_TRAIN_RUN_MEASURE_MEMORY_H_
// Memory of the processes that train.
#include "comm/communicator.h"
#include "runtime/base/process_memory.h"

namespace tessera {

// Memory of this process, or the largest figures of all ranks. Every rank calls; null: no ranks.
ProcessMemory LargestMemorySync(Communicator* comm);

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_MEASURE_MEMORY_H_
