#include "planner/model/shipped_topologies.h"

#include "runtime/base/check.h"
#include "runtime/base/nearest.h"

namespace tessera {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr double kDecimalGigabytesPerSecond = 1e9 / 1000;  // "GB/s" of data sheets, in bytes per ms

// Bandwidths in GB/s of a rank; of links, one direction.
struct Machine {
  const char* name;
  ComputeDevice device;
  int ranks_a_node;  // 0: all
  int64_t hbm, ddr;
  double hbm_bw, ddr_bw, hbm_to_ddr_bw, intra_host_bw, inter_host_bw;
};

constexpr Machine kMachines[] = {
    {"cpu", ComputeDevice::kCpu, 0, 0, 256 * kGiB, 460, 460, 460, 60, 25},
    {"a100", ComputeDevice::kCuda, 8, 80 * kGiB, 256 * kGiB, 2039, 200, 32, 300, 25},
    {"h100", ComputeDevice::kCuda, 8, 80 * kGiB, 256 * kGiB, 3350, 300, 64, 450, 50},
    {"h200", ComputeDevice::kCuda, 8, 141 * kGiB, 256 * kGiB, 4800, 300, 64, 450, 50}};

int RanksANode(const Machine& machine, int world_size, int local_world_size) {
  if (local_world_size > 0) return local_world_size;
  const int own = machine.ranks_a_node;
  if (own > 0 && world_size > own && world_size % own != 0)
    throw Error(Format(
        "{} ranks of {}, whose nodes have {} each: expected a multiple of {}, or how many ranks a "
        "node has (--ranks-per-node)",
        world_size, machine.name, own, own));
  return own > 0 && world_size > own ? own : world_size;
}

Topology Of(const Machine& machine, int world_size, int local_world_size) {
  Topology t;
  t.compute_device = machine.device;
  t.world_size = world_size;
  t.local_world_size = RanksANode(machine, world_size, local_world_size);
  t.hbm_cap = machine.hbm;
  t.ddr_cap = machine.ddr;
  t.hbm_mem_bw = machine.hbm_bw * kDecimalGigabytesPerSecond;
  t.ddr_mem_bw = machine.ddr_bw * kDecimalGigabytesPerSecond;
  t.hbm_to_ddr_mem_bw = machine.hbm_to_ddr_bw * kDecimalGigabytesPerSecond;
  t.intra_host_bw = machine.intra_host_bw * kDecimalGigabytesPerSecond;
  t.inter_host_bw = machine.inter_host_bw * kDecimalGigabytesPerSecond;
  CheckTopology(t);
  return t;
}

}  // namespace

std::vector<std::string> ShippedTopologyNames() {
  std::vector<std::string> names;
  for (const Machine& machine : kMachines) names.emplace_back(machine.name);
  return names;
}

Topology ShippedTopology(const std::string& name, int world_size, int local_world_size) {
  for (const Machine& machine : kMachines)
    if (name == machine.name) return Of(machine, world_size, local_world_size);
  throw Error(NoneIsCalled("machine", name, ShippedTopologyNames()));
}

}  // namespace tessera
