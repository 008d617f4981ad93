#ifndef TESSERA_CLI_SHOW_MEMORY_TEXT_H_
#define TESSERA_CLI_SHOW_MEMORY_TEXT_H_
// Says how much memory of the host a command took.
#include <string>

#include "runtime/base/process_memory.h"
#include "runtime/json/json_object.h"

namespace tessera::cli {

// "412.0 MiB at the peak, 380.0 MiB at the end".
std::string MemoryText(const ProcessMemory& memory);

// Adds "memory": {"peak_bytes", "bytes"}.
void AddMemory(const ProcessMemory& memory, internal::Json& json);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_MEMORY_TEXT_H_
