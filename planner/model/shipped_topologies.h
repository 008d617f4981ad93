#ifndef TESSERA_PLANNER_MODEL_SHIPPED_TOPOLOGIES_H_
#define TESSERA_PLANNER_MODEL_SHIPPED_TOPOLOGIES_H_
// Machines by name, for those who have not measured theirs: bandwidths and memories from the
// makers' data sheets, of which a running program gets a part. `tessera calibrate` measures
// instead.
//
//   cpu    servers of 2023, DDR5, 12 channels a rank; all ranks are one node's
//   a100   A100 SXM 80 GB, NVLink 3, 8 a node, InfiniBand HDR 200 Gb/s a GPU
//   h100   H100 SXM 80 GB, NVLink 4, 8 a node, InfiniBand NDR 400 Gb/s a GPU
//   h200   H200 SXM 141 GB, else as h100
#include <string>
#include <vector>

#include "planner/model/topology.h"

namespace tessera {

// The names above.
std::vector<std::string> ShippedTopologyNames();

// Returns machine `name` with world_size ranks, local_world_size of them a node (0: 8 of more than
// 8 GPUs, else all). Throws Error for another name, listing those there are, and, if
// local_world_size is 0, for more than 8 GPUs that do not fill nodes of 8.
Topology ShippedTopology(const std::string& name, int world_size, int local_world_size = 0);

}  // namespace tessera
#endif  // TESSERA_PLANNER_MODEL_SHIPPED_TOPOLOGIES_H_
