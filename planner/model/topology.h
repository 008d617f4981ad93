#ifndef TESSERA_PLANNER_MODEL_TOPOLOGY_H_
#define TESSERA_PLANNER_MODEL_TOPOLOGY_H_
// The machine that tables are planned for, as plain data: ranks, their memories, and how fast bytes
// move. Bandwidths are bytes per millisecond, memories bytes per rank; names and defaults are those
// of TorchRec's planner (V100-era constants).
//
// A node is a run of local_world_size consecutive ranks; a group is pod_size nodes that share one
// fast domain. world_size is a multiple of the group's ranks.
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

enum class ComputeDevice { kCpu, kCuda, kMtia };
std::string ToString(ComputeDevice device);  // "cpu", "cuda", "mtia"
ComputeDevice ParseComputeDevice(const std::string& name);

enum class Collective { kAllToAll, kAllReduce, kAllGather, kReduceScatter };
std::string ToString(Collective collective);  // "all_to_all", …
Collective ParseCollective(const std::string& name);

// The bandwidth of one collective over `world` ranks of which `local` share a node.
struct CollectiveBandwidth {
  Collective collective = Collective::kAllToAll;
  int world = 1, local = 1;
  double bytes_per_ms = 0;

  friend bool operator==(const CollectiveBandwidth&, const CollectiveBandwidth&) = default;
};

// "G" of a bandwidth: 2^30 bytes a second, in bytes per millisecond.
inline constexpr double kGigabytesPerSecond = 1073741824.0 / 1000;

struct Topology {
  ComputeDevice compute_device = ComputeDevice::kCuda;
  int world_size = 1;
  int local_world_size = 1;
  int pod_size = 1;
  int64_t hbm_cap = int64_t{32} << 30, ddr_cap = int64_t{128} << 30, ssd_cap = int64_t{2048} << 30;
  // Empty, or one a rank, which then replaces the cap.
  std::vector<int64_t> hbm_caps = {}, ddr_caps = {};
  double hbm_mem_bw = 897 * kGigabytesPerSecond, ddr_mem_bw = 51 * kGigabytesPerSecond,
         ssd_mem_bw = 0.1 * 1048576, hbm_to_ddr_mem_bw = 32 * kGigabytesPerSecond,
         intra_host_bw = 600 * kGigabytesPerSecond, inter_host_bw = 12.5 * kGigabytesPerSecond;
  double bwd_compute_multiplier = 2, weighted_feature_bwd_compute_multiplier = 1;
  // If not empty, the only source of collectives' bandwidths.
  std::vector<CollectiveBandwidth> comms_table = {};
  // Cores of a node whose ranks share them (0: every rank has a processor of its own).
  int cores_per_node = 0;

  int group_size() const { return pod_size * local_world_size; }
  int64_t hbm_of(int rank) const {
    return hbm_caps.empty() ? hbm_cap : hbm_caps[static_cast<size_t>(rank)];
  }
  int64_t ddr_of(int rank) const {
    return ddr_caps.empty() ? ddr_cap : ddr_caps[static_cast<size_t>(rank)];
  }

  friend bool operator==(const Topology&, const Topology&) = default;
};

// Throws Error for a topology that no machine is: ranks that do not fill nodes and groups,
// bandwidths that are not above 0, negative memories, lists of another length than world_size.
void CheckTopology(const Topology& topology);

// Bytes per ms of a collective: its row of comms_table; without a table inter · local for an
// all-reduce, else the intra-host figure where world ≤ local and the inter-host one elsewhere.
// Throws Error for a row that the table lacks.
double CollectiveBandwidthOf(const Topology& topology, Collective collective, int world, int local);

}  // namespace tessera
#endif  // TESSERA_PLANNER_MODEL_TOPOLOGY_H_
