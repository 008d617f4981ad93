#include "runtime/base/process_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace tessera {

ProcessMemory MemoryOfProcess() {
  constexpr int64_t kKilobyte = 1024;
  constexpr auto kRestOfLine = std::numeric_limits<std::streamsize>::max();
  ProcessMemory memory;
  std::ifstream file("/proc/self/status");
  for (std::string key; file >> key; file.ignore(kRestOfLine, '\n')) {
    int64_t kilobytes = 0;
    if (key == "VmRSS:" && file >> kilobytes) memory.bytes = kilobytes * kKilobyte;
    if (key == "VmHWM:" && file >> kilobytes) memory.peak_bytes = kilobytes * kKilobyte;
  }
  memory.peak_bytes = std::max(memory.bytes, memory.peak_bytes);
  return memory;
}

}  // namespace tessera
