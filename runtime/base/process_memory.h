#ifndef TESSERA_RUNTIME_BASE_PROCESS_MEMORY_H_
#define TESSERA_RUNTIME_BASE_PROCESS_MEMORY_H_
// Memory of the host that this process takes, as the system counts it.
#include <cstdint>

namespace tessera {

// Resident memory, files that are mapped included; 0 where the system does not say.
struct ProcessMemory {
  int64_t bytes = 0;       // now
  int64_t peak_bytes = 0;  // the most since the program began
};

// Reads /proc/self/status.
ProcessMemory MemoryOfProcess();

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_PROCESS_MEMORY_H_
