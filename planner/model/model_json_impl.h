#ifndef TESSERA_PLANNER_MODEL_MODEL_JSON_IMPL_H_
#define TESSERA_PLANNER_MODEL_MODEL_JSON_IMPL_H_
// A model inside of other documents.
#include "planner/model/model.h"
#include "runtime/json/json_object.h"

namespace tessera::internal {

// The fields of an object that holds a model; the caller finishes and checks it.
PlannerModel ModelFields(JsonObject& object);

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_MODEL_MODEL_JSON_IMPL_H_
