#ifndef TESSERA_TOOLS_PTX_STATISTICS_H_
#define TESSERA_TOOLS_PTX_STATISTICS_H_
// Counts of what kernels ask of memory, printed when the program ends if the environment has
// TESSERA_PTX_STATISTICS. A request is one instruction of one warp. Global memory moves in sectors
// of 32 bytes; shared memory gives one word of each of 32 banks at a time, so lanes that want
// different words of a bank take turns.
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "tools/ptx/module.h"

namespace ptx {

// Those of one kind at one place of the source.
struct Requests {
  uint64_t requests = 0, lanes = 0, bytes = 0, sectors = 0;
};
// Kind ("load", "store", "copy" to shared memory, "atomic"), bytes of a lane, place.
using AccessPlace = std::tuple<std::string, int, std::string>;

struct Counts {
  uint64_t launches = 0;
  uint32_t threads = 0;         // a block of the last launch
  uint64_t dynamic_shared = 0;  // bytes a block of it asked for
  uint64_t global_requests = 0, global_bytes = 0, global_sectors = 0;
  uint64_t global_lanes = 0;                       // of all requests
  std::array<uint64_t, 33> sectors_of_width = {};  // of loads, by a lane's bytes
  uint64_t least_sectors = 0;                      // if each request's bytes lay side by side
  uint64_t distinct_sectors = 0;  // each counted once a launch: the least that memory must move
  uint64_t shared_requests = 0, shared_turns = 0;
  uint64_t least_turns = 0;                  // if no two lanes wanted different words of a bank
  std::map<AccessPlace, Requests> accesses;  // of global memory
};

class Statistics {
 public:
  // Those that are printed; null if nobody asked for them.
  static Statistics* Asked();
  // Takes what was counted, and counts from 0 on.
  std::map<std::string, Counts> Take() { return std::exchange(kernels_, {}); }

  // Threads and bytes of dynamic shared memory of a block.
  void BeginLaunch(const std::string& kernel, uint32_t threads, uint64_t dynamic_shared);
  // Lanes' addresses or offsets, of `bytes` bytes each. kind: an AccessPlace's, a literal.
  void CountGlobal(LaneMask lanes, const uint64_t (&addresses)[kLanes], int bytes,
                   std::string_view kind, const SourceLine& source = {});
  void CountShared(LaneMask lanes, const uint64_t (&offsets)[kLanes], int bytes);
  // function: whose lines were counted.
  void EndLaunch(const Function* function = nullptr);

  const std::map<std::string, Counts>& kernels() const { return kernels_; }
  // A line a kernel, those that move most first; below it a line for each of its accesses.
  std::string Text() const;

 private:
  std::map<std::string, Counts> kernels_;
  Counts* current_ = nullptr;
  std::set<uint64_t> touched_;
  std::map<std::tuple<std::string_view, int, SourceLine>, Requests> accesses_;  // of the launch
};

}  // namespace ptx
#endif  // TESSERA_TOOLS_PTX_STATISTICS_H_
