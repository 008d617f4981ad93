#ifndef TESSERA_BENCH_FACTS_PERF_EVENTS_H_
#define TESSERA_BENCH_FACTS_PERF_EVENTS_H_
// The hardware events that a bench counts, and how this machine's CPU numbers them.
//
//   cycles, instructions, stalled_cycles   of the first group
//   l2_misses, l3_misses, dtlb_misses      of the second one
//   dram_read_bytes, dram_write_bytes      of the memory controllers of Intel's servers
//
// A group is small enough for the counters of any core, also of one that shares them with a
// sibling: all of it is counted at once.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera::bench {

struct PerfEvent {
  std::string name;  // of a fact; counts of several events with one name are added
  uint32_t type = 0;
  uint64_t config = 0;  // both as perf_event_attr has them
  double scale = 1;     // of a count to what the fact says
  int cpu = -1;         // where a socket's controllers are counted; −1: a thread is
};
using PerfGroup = std::vector<PerfEvent>;

enum class CpuVendor { kIntel, kAmd, kArm, kOther };
CpuVendor ThisCpuVendor();

// Where the kernel's own names mean another cache than ours say (a "cache miss" is one of L2 on
// AMD's cores, one of L1 on Arm's), an event has the core's number; one that is not known of a
// vendor is left out.
std::vector<PerfGroup> CoreGroups(CpuVendor vendor);

// Reads and writes of all memory controllers; empty where `devices` lists none. Others' accesses
// are counted with those of the call.
PerfGroup DramEvents(const std::filesystem::path& devices = "/sys/bus/event_source/devices");

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_FACTS_PERF_EVENTS_H_
