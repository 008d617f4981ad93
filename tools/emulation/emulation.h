#ifndef TESSERA_TOOLS_EMULATION_EMULATION_H_
#define TESSERA_TOOLS_EMULATION_EMULATION_H_
// Interface for tests to the emulated device, and the parts that the emulated headers are made of.
//
// A block's threads are fibers; __syncthreads and the warp primitives are the only places where one
// gives way to another, so results don't depend on timing, and a sanitizer sees every access.
// Blocks and grids run one after another, under one lock.
//
// Streams are deferred: nothing that was enqueued runs before somebody waits for it. Device memory
// is protected but while device code runs: host code that touches it ends in a segmentation fault.
//
// Found, where hardware would be silent: barriers that not all live threads reach, shuffles whose
// mask names a lane that is elsewhere, a missing wait between streams or before a read on the host,
// host access to device memory, writes past an allocation (a check when it is freed; with
// AddressSanitizer the line). Not found: races between barriers, memory order.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace cuda_emulation {

struct Extent {
  unsigned x, y, z;
};

// The thread that runs.
struct Position {
  Extent thread, block, block_dim, grid_dim;
  int lane, warp;
};
extern Position current;

struct Counters {
  int64_t launches = 0, threads = 0;
  int64_t syncs = 0;  // times that the host waited
  int64_t copies = 0;
  // Waits for and queries of an event or a stream by a thread that had chosen another device: on
  // hardware they make a context on that other device.
  int64_t foreign_waits = 0;
};
Counters Stats();

// Runs the threads of a block in a new random order after each barrier (0: in index order): shows
// many missing barriers. TESSERA_EMULATION_SHUFFLE sets the seed at the start.
void ShuffleThreads(unsigned seed);
// How much device memory there is from now on (4 GiB at the start).
void SetMemoryLimit(int64_t bytes);
// How many devices there are from now on (TESSERA_EMULATION_DEVICES, else 1, at the start). All are
// the CPU, with the same memory.
void SetDeviceCount(int count);
// The devices that were given access to the pool of this one.
std::vector<int> PeersOfPool(int device);
// Called whenever pinned host memory is taken from or given back to the system; may be empty.
void SetPinnedHook(std::function<void()> hook);

// ---- for the emulated headers

// Puts device work at the end of a stream.
void Enqueue(void* stream, std::function<void()> work);
// How a kernel is started.
struct Shape {
  Extent grid, block;
  size_t shared_bytes;
};
// Makes the work of a launch with copies of the arguments at these addresses.
using BindLaunch = std::function<std::function<void()>(const Shape& shape, void** params)>;
// Puts a launch at the end of a stream. If it is recorded, `bind` gives it other arguments later.
void EnqueueLaunch(void* stream, const Shape& shape, void** params, const BindLaunch& bind);

// Runs the threads of a grid, each of which calls `thread`. Throws std::logic_error for a kernel
// that breaks the rules of barriers; passes on what `thread` throws.
void RunGrid(const Shape& shape, const std::function<void()>& thread);

void SyncBlock();
// Like SyncBlock; gives every thread the sum over the block of `value`.
int SumOverBlock(int value);

enum class WarpCall { kSync, kShuffle, kBallot };
// Waits until every live lane of `mask` has come, each with a value. A shuffle returns what lane
// `source` brought, a ballot the bits of the lanes whose value is not 0.
uint64_t ExchangeInWarp(WarpCall call, unsigned mask, uint64_t value, int source);

void* DynamicShared();

}  // namespace cuda_emulation
#endif  // TESSERA_TOOLS_EMULATION_EMULATION_H_
