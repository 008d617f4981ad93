#ifndef TESSERA_SHARDING_PLAN_PLAN_JSON_IMPL_H_
#define TESSERA_SHARDING_PLAN_PLAN_JSON_IMPL_H_
// A plan inside of other documents.
#include <string>

#include "runtime/json/json_object.h"
#include "sharding/plan/plan.h"

namespace tessera::internal {

Json PlanJson(const ShardingPlan& plan);
// Throws Error, which begins with `where`.
ShardingPlan PlanOf(const Json& value, const std::string& where);

// "rank", "offset" and "size" of an object.
Shard ShardAt(JsonObject& object);

}  // namespace tessera::internal
#endif  // TESSERA_SHARDING_PLAN_PLAN_JSON_IMPL_H_
