#ifndef TESSERA_CLI_MEMORY_LIMIT_FLAG_H_
#define TESSERA_CLI_MEMORY_LIMIT_FLAG_H_
// --memory-limit: what a command may take, where the machine's own answer is not the right one.
#include <string>

#include "cli/command_line.h"
#include "runtime/base/memory_limit.h"

namespace tessera::cli {

// `what`: the memory that counts.
void AddMemoryLimitFlag(Command command, std::string& size,
                        const std::string& what = ", the process itself included");

// Returns the memory that the flag allows, or what is available if the flag is empty, with what
// this process has now, which counts as well: its resident set.
MemoryThere MemoryThereIs(const std::string& size);
// Returns the same for what is to come alone, as for one of a server's models, whose process holds
// others.
MemoryThere MemoryForMore(const std::string& size);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_MEMORY_LIMIT_FLAG_H_
