#include "planner/model/topology.h"

#include <cmath>

#include "runtime/base/check.h"
#include "runtime/base/names.h"
#include "runtime/base/size_limits.h"

namespace tessera {
namespace {

constexpr const char* kDeviceNames[] = {"cpu", "cuda", "mtia"};
constexpr const char* kCollectiveNames[] = {"all_to_all", "all_reduce", "all_gather",
                                            "reduce_scatter"};
constexpr int kMaxRanks = static_cast<int>(SizeLimits::kRanks);

void CheckBandwidth(double bytes_per_ms, const char* name) {
  constexpr double kLeast = 1e-3;  // a byte a second: with less, times of large tables overflow
  TESSERA_CHECK(std::isfinite(bytes_per_ms) && bytes_per_ms >= kLeast,
                "topology: {}: expected a bandwidth of at least {} bytes a millisecond, got {}",
                name, kLeast, bytes_per_ms);
}

void CheckMultiplier(double value, const char* name) {
  TESSERA_CHECK(std::isfinite(value) && value >= 0,
                "topology: {}: expected a number that is not negative, got {}", name, value);
}

void CheckCaps(const std::vector<int64_t>& caps, int world_size, const char* name) {
  if (caps.empty()) return;
  TESSERA_CHECK_EQ(static_cast<int>(caps.size()), world_size, "topology: {}, one a rank", name);
  for (const int64_t cap : caps)
    TESSERA_CHECK(cap >= 0, "topology: {}: expected bytes, got {}", name, cap);
}

void CheckRanks(const Topology& t) {
  TESSERA_CHECK(t.world_size >= 1 && t.world_size <= kMaxRanks,
                "topology: expected a world_size of 1 to {}, got {}", kMaxRanks, t.world_size);
  TESSERA_CHECK(t.local_world_size >= 1 && t.world_size % t.local_world_size == 0,
                "topology: expected a local_world_size that divides world_size {}, got {}",
                t.world_size, t.local_world_size);
  const int nodes = t.world_size / t.local_world_size;
  TESSERA_CHECK(t.pod_size >= 1 && nodes % t.pod_size == 0,
                "topology: expected a pod_size that divides {} nodes, got {}", nodes, t.pod_size);
  TESSERA_CHECK(t.cores_per_node >= 0, "topology: cores_per_node {}", t.cores_per_node);
}

}  // namespace

std::string ToString(ComputeDevice device) { return kDeviceNames[static_cast<int>(device)]; }
ComputeDevice ParseComputeDevice(const std::string& name) {
  return internal::ParseName<ComputeDevice>(name, "compute device", kDeviceNames);
}

std::string ToString(Collective collective) {
  return kCollectiveNames[static_cast<int>(collective)];
}
Collective ParseCollective(const std::string& name) {
  return internal::ParseName<Collective>(name, "collective", kCollectiveNames);
}

void CheckTopology(const Topology& t) {
  CheckRanks(t);
  TESSERA_CHECK(t.hbm_cap >= 0 && t.ddr_cap >= 0 && t.ssd_cap >= 0,
                "topology: expected memories that are not negative, got hbm_cap {}, ddr_cap {}, "
                "ssd_cap {}",
                t.hbm_cap, t.ddr_cap, t.ssd_cap);
  CheckCaps(t.hbm_caps, t.world_size, "hbm_caps");
  CheckCaps(t.ddr_caps, t.world_size, "ddr_caps");
  CheckBandwidth(t.hbm_mem_bw, "hbm_mem_bw");
  CheckBandwidth(t.ddr_mem_bw, "ddr_mem_bw");
  CheckBandwidth(t.ssd_mem_bw, "ssd_mem_bw");
  CheckBandwidth(t.hbm_to_ddr_mem_bw, "hbm_to_ddr_mem_bw");
  CheckBandwidth(t.intra_host_bw, "intra_host_bw");
  CheckBandwidth(t.inter_host_bw, "inter_host_bw");
  CheckMultiplier(t.bwd_compute_multiplier, "bwd_compute_multiplier");
  CheckMultiplier(t.weighted_feature_bwd_compute_multiplier,
                  "weighted_feature_bwd_compute_multiplier");
  for (const CollectiveBandwidth& row : t.comms_table)
    CheckBandwidth(row.bytes_per_ms, "comms_table");
}

double CollectiveBandwidthOf(const Topology& topology, Collective collective, int world,
                             int local) {
  for (const CollectiveBandwidth& row : topology.comms_table)
    if (row.collective == collective && row.world == world && row.local == local)
      return row.bytes_per_ms;
  TESSERA_CHECK(topology.comms_table.empty(),
                "topology: comms_table has no row [{}, {}, {}] (collective, ranks, ranks a node)",
                collective, world, local);
  if (collective == Collective::kAllReduce) return topology.inter_host_bw * local;
  return world <= local ? topology.intra_host_bw : topology.inter_host_bw;
}

}  // namespace tessera
