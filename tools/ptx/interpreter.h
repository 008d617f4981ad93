#ifndef TESSERA_TOOLS_PTX_INTERPRETER_H_
#define TESSERA_TOOLS_PTX_INTERPRETER_H_
// Runs kernels that nvcc has compiled to PTX on the CPU. Warps run in step, a block at a time.
//
// Found, where hardware would be silent or stop without a place: accesses out of bounds (of an
// allocation, of shared, local and parameter memory) or misaligned, reads of shared memory that
// nobody wrote, shuffles from lanes that take no part, masks that leave out their own lane,
// barriers and warp calls that not all reach. A thread that has ended is not waited for at a
// barrier, as on GPUs since Volta. Copies by cp.async are made when their lane waits for them. With
// a seed (TESSERA_PTX_SEED) warps, lanes and a few blocks side by side take turns in a random
// order, and a copy is made at a random point between its issue and the wait for it.
//
// Not in it: the weak order of memory (each access is seen at once), approximations as hardware
// rounds them, calls of device functions, textures, tensor cores. A kernel that spins for ever does
// so here, too; without a seed that includes a lane that waits for another of its own warp.
#include <cstdint>

#include "tools/ptx/module.h"
#include "tools/ptx/warp.h"

namespace ptx {

// Runs warps in a random order from now on; 0: in order.
void SetSeed(uint32_t seed);

// Throws std::logic_error for a kernel that breaks a rule. Not for several threads at once. Device
// memory can be touched (cuda_emulation::DeviceAccess).
void RunGrid(const Function& kernel, Extent3 grid, Extent3 block, uint64_t dynamic_shared_bytes,
             const char* params);

}  // namespace ptx
#endif  // TESSERA_TOOLS_PTX_INTERPRETER_H_
