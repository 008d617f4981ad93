#ifndef TESSERA_PLANNER_MODEL_TOPOLOGY_JSON_H_
#define TESSERA_PLANNER_MODEL_TOPOLOGY_JSON_H_
// A topology as a JSON document:
//
//   {"tessera_topology": 1,                       the format's version
//    "compute_device": "cuda", "world_size": 16, "local_world_size": 8, "hbm_cap": 34359738368, …,
//    "profile": {…}}                              what `tessera calibrate` measured, if it did
//
// with the names of topology.h; hbm_caps, ddr_caps and comms_table ([collective, world, local,
// bytes per ms] a row) may be null. What is left out has its default.
#include <string>

#include "planner/model/topology.h"

namespace tessera {

struct TopologyFile {
  Topology topology;
  std::string profile;  // the section's JSON text as it stood in the document; empty without one
  std::string where = "topology";  // the document's name, for errors about its profile
};

// Throws Error, which begins with `where` (a file's name) and names the field, for a document that
// is not a topology of this version.
TopologyFile TopologyFromJson(const std::string& text, const std::string& where);

// A field a line.
std::string TopologyToJson(const TopologyFile& file);

}  // namespace tessera
#endif  // TESSERA_PLANNER_MODEL_TOPOLOGY_JSON_H_
