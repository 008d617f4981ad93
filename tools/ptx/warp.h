#ifndef TESSERA_TOOLS_PTX_WARP_H_
#define TESSERA_TOOLS_PTX_WARP_H_
// The state of a block and its warps while they run. Each lane has a place in the code; those of
// one place run together, and lanes that differ meet again where the code says so.
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tools/emulation/memory.h"
#include "tools/ptx/module.h"
#include "tools/ptx/statistics.h"

namespace ptx {

struct Extent3 {
  uint32_t x = 1, y = 1, z = 1;
  uint32_t count() const { return x * y * z; }
};

// A copy by cp.async that its lane has not waited for yet.
struct PendingCopy {
  char* to;
  const char* from;
  uint32_t bytes, zeros;
  int group;
};

struct Block;
struct Warp {
  Block* block = nullptr;
  int index = 0;
  uint64_t* registers = nullptr;  // [slot][lane]
  LaneMask exists = 0, exited = 0, at_barrier = 0, at_meeting = 0;
  LaneMask running = 0;      // the lanes that go on now
  uint32_t place = 0;        // their instruction
  uint32_t next_stop = ~0u;  // the lowest place of others that could go on
  std::array<uint32_t, kLanes> places{};
  std::array<LaneMask, kLanes> members{};  // whom a lane waits for in a meeting
  std::array<int, kLanes> barrier{};       // which one it waits at
  std::array<uint8_t, kLanes> carry{};     // CC.CF
  std::vector<char> local;                 // one lane's after another's
  std::array<std::vector<PendingCopy>, kLanes> copies;
  size_t pending = 0;  // copies of all lanes
  std::array<int, kLanes> copy_group{};

  LaneMask live() const { return exists & ~exited; }
  LaneMask ready() const { return live() & ~at_barrier & ~at_meeting; }
  uint64_t* slot(int s) { return registers + static_cast<size_t>(s) * kLanes; }
};

// How warps take turns: in order, or from a seed in a random one.
struct Schedule {
  bool random = false;
  std::minstd_rand generator;
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(generator()) % n; }
};

struct Block {
  Block(const Function& f, Extent3 grid_extent, Extent3 block_extent, uint64_t dynamic_bytes,
        const char* arguments);
  Block(const Block&) = delete;
  // Begins anew as the block of this number.
  void Begin(uint32_t number);
  // Lets each warp run a while. Throws std::logic_error where the kernel breaks a rule.
  void Advance(Schedule& schedule);
  bool done() const;
  uint32_t thread(const Warp& warp, int lane) const {
    return static_cast<uint32_t>(warp.index * kLanes + lane);
  }

  const Function& function;
  Extent3 grid, extent, id;
  std::vector<char> shared, shared_written;  // the second: whether a byte was written
  uint64_t shared_bytes;
  const char* params;
  std::vector<Warp> warps;
  std::vector<uint64_t> registers;
  std::vector<size_t> order;            // of the warps
  cuda_emulation::Allocation last_hit;  // of global accesses
  Statistics* statistics = nullptr;
};

// Throws std::logic_error that names the kernel, the thread and the instruction.
[[noreturn]] void Fail(const Warp& warp, const Instruction& i, int lane, const std::string& what);

// Executes one instruction for lanes of one place. False if no lane of the warp can go on now; sets
// *flow to the instruction's.
bool Step(Warp& warp, Schedule& schedule, Flow* flow);
// Lets lanes that wait for each other go on if all have come.
void CompleteMeetings(Warp& warp);
// The lanes that run now become ready ones of their places.
void Park(Warp& warp);
// Lets some of the warp's copies arrive before their lanes wait for them: any of them may.
void ArriveEarly(Warp& warp, Schedule& schedule);
// Lets the lanes at each barrier go on for which all have come; false if there is none.
bool ReleaseBarriers(Block& block);

}  // namespace ptx
#endif  // TESSERA_TOOLS_PTX_WARP_H_
