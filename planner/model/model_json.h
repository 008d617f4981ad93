#ifndef TESSERA_PLANNER_MODEL_MODEL_JSON_H_
#define TESSERA_PLANNER_MODEL_MODEL_JSON_H_
// A model to plan as a JSON document:
//
//   {"tessera_planner_model": 1, "batch_size": 512,
//    "modules": [{"path": "sparse.ebc", "kind": "ebc", "is_weighted": false,
//                 "tables": [{"name": "t0", "rows": 1000, "dim": 64, "dtype": "fp32",
//                             "features": ["f0"], "optimizer": "adam"}, …]}, …],
//    "constraints": {"t0": {"pooling_factors": [8], "sharding_types": ["row_wise"], …}, …},
//    "sharders": {"ebc": {"fused_params": {"cache_load_factor": 0.1, "prefetch_pipeline": false},
//                         "comm_bytes": {"pooled_all_to_all": [2, 2], …}}},
//    "estimator": {"is_inference": false, "pipeline_type": "none", …},
//    "dense_parameter_bytes": 0, "dense_buffer_bytes": 0}
//
// with the names of model.h. What is left out, or null, has its default.
#include <string>

#include "planner/model/model.h"

namespace tessera {

// A checked model. Throws Error, which begins with `where` (a file's name) and names the field, for
// a document that is not a model of this version.
PlannerModel PlannerModelFromJson(const std::string& text, const std::string& where);

std::string PlannerModelToJson(const PlannerModel& model);

}  // namespace tessera
#endif  // TESSERA_PLANNER_MODEL_MODEL_JSON_H_
