// A planner's topology and model as JSON: each one that is read is written and read again.
#include "planner/model/model_json.h"
#include "planner/model/topology_json.h"
#include "tests/fuzz/fuzz.h"

namespace tessera::fuzz {

std::vector<std::string> Seeds() {
  const std::string model = R"({"tessera_planner_model": 1, "batch_size": 512,
    "modules": [{"path": "sparse.ebc", "kind": "ebc", "is_weighted": false,
                 "tables": [{"name": "t0", "rows": 1000, "dim": 64, "dtype": "fp32",
                             "features": ["f0"], "optimizer": "adam"}]}],
    "constraints": {"t0": {"pooling_factors": [8], "sharding_types": ["row_wise"]}},
    "dense_parameter_bytes": 1000})";
  return {TopologyToJson({}), PlannerModelToJson(PlannerModelFromJson(model, "seed")), model};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string text(fuzz::AsText(data, size));
  std::string topology, model;
  fuzz::MayRefuse([&] { topology = TopologyToJson(TopologyFromJson(text, "input")); });
  fuzz::MayRefuse([&] { model = PlannerModelToJson(PlannerModelFromJson(text, "input")); });
  if (!topology.empty() && TopologyToJson(TopologyFromJson(topology, "again")) != topology)
    __builtin_trap();
  if (!model.empty() && PlannerModelToJson(PlannerModelFromJson(model, "again")) != model)
    __builtin_trap();
  return 0;
}
