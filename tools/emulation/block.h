#ifndef TESSERA_TOOLS_EMULATION_BLOCK_H_
#define TESSERA_TOOLS_EMULATION_BLOCK_H_
// Runs the threads of a grid.
#include <functional>

#include "tools/emulation/emulation.h"

namespace cuda_emulation {

// Throws std::logic_error for a kernel that breaks the rules of barriers; passes on what it throws.
void RunGrid(Extent grid, Extent block, size_t shared_bytes, const std::function<void()>& thread);

}  // namespace cuda_emulation
#endif  // TESSERA_TOOLS_EMULATION_BLOCK_H_
