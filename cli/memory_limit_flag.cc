#include "cli/memory_limit_flag.h"

#include "runtime/base/check.h"
#include "runtime/base/process_memory.h"

namespace tessera::cli {

void AddMemoryLimitFlag(Command command, std::string& size, const std::string& what) {
  command
      .Add("--memory-limit", size,
           Format("Refuse to start if more memory than this is needed{}: a number of bytes, or one "
                  "with K, M, G or T behind it (2^10, 2^20, 2^30, 2^40), such as 12G; default: the "
                  "memory that is available to this process",
                  what))
      .Value("SIZE");
}

MemoryThere MemoryThereIs(const std::string& size) {
  MemoryThere there = MemoryForMore(size);
  there.processes = static_cast<double>(MemoryOfProcess().bytes);
  if (size.empty()) there.bytes += there.processes;  // what is available is beside them
  return there;
}

MemoryThere MemoryForMore(const std::string& size) {
  if (size.empty()) return AvailableMemory();
  try {
    return {ParseMemorySize(size), "--memory-limit"};
  } catch (const Error& error) {
    throw Error(Format("--memory-limit: {}", error.what()));
  }
}

}  // namespace tessera::cli
