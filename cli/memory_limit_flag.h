#ifndef TESSERA_CLI_MEMORY_LIMIT_FLAG_H_
#define TESSERA_CLI_MEMORY_LIMIT_FLAG_H_
// --memory-limit: what a command may take, where the machine's own answer is not the right one.
#include <string>

#include "cli/command_line.h"
#include "runtime/base/memory_limit.h"

namespace tessera::cli {

void AddMemoryLimitFlag(Command command, std::string& size);

// Returns the memory that the flag allows, or what is available if the flag is empty.
MemoryThere MemoryThereIs(const std::string& size);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_MEMORY_LIMIT_FLAG_H_
