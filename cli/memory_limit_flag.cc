#include "cli/memory_limit_flag.h"

#include "runtime/base/check.h"

namespace tessera::cli {

void AddMemoryLimitFlag(Command command, std::string& size) {
  command
      .Add("--memory-limit", size,
           "Refuse to start if more memory than this is needed: a number of bytes, or one with "
           "K, M, G or T behind it (2^10, 2^20, 2^30, 2^40), such as 12G; default: the memory "
           "that is available to this process")
      .Value("SIZE");
}

MemoryThere MemoryThereIs(const std::string& size) {
  if (size.empty()) return AvailableMemory();
  try {
    return {ParseMemorySize(size), "--memory-limit"};
  } catch (const Error& error) {
    throw Error(Format("--memory-limit: {}", error.what()));
  }
}

}  // namespace tessera::cli
