#include "train/run/measure_memory.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "runtime/base/check.h"

namespace tessera {

ProcessMemory LargestMemorySync(Communicator* comm) {
  ProcessMemory largest = MemoryOfProcess();
  if (comm == nullptr) return largest;
  const std::string mine = Format("{} {}", largest.bytes, largest.peak_bytes);
  for (const std::string& text : comm->GatherStringsSync(mine, "the memory of the ranks")) {
    ProcessMemory memory;
    std::istringstream(text) >> memory.bytes >> memory.peak_bytes;
    largest.bytes = std::max(largest.bytes, memory.bytes);
    largest.peak_bytes = std::max(largest.peak_bytes, memory.peak_bytes);
  }
  return largest;
}

}  // namespace tessera
