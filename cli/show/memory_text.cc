#include "cli/show/memory_text.h"

#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {

std::string MemoryText(const ProcessMemory& memory) {
  return Format("{} at the peak, {} at the end", Bytes(memory.peak_bytes), Bytes(memory.bytes));
}

void AddMemory(const ProcessMemory& memory, internal::Json& json) {
  json["memory"] = {{"peak_bytes", memory.peak_bytes}, {"bytes", memory.bytes}};
}

}  // namespace tessera::cli
