#ifndef TESSERA_PLANNER_MODEL_TOPOLOGY_JSON_IMPL_H_
#define TESSERA_PLANNER_MODEL_TOPOLOGY_JSON_IMPL_H_
// A topology inside of other documents.
#include "planner/model/topology.h"
#include "runtime/json/json_object.h"

namespace tessera::internal {

// The fields of an object that is a topology; the caller finishes it. Throws Error for a topology
// that no machine is.
Topology TopologyFields(JsonObject& object);

Json TopologyJson(const Topology& topology);

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_MODEL_TOPOLOGY_JSON_IMPL_H_
