#ifndef TESSERA_SHARDING_PLAN_PLAN_JSON_H_
#define TESSERA_SHARDING_PLAN_PLAN_JSON_H_
// A plan as a JSON document:
//
//   {"tessera_sharding_plan": 1,                         the format's version
//    "world_size": 4, "local_size": 2,
//    "tables": {"t0": {"sharding_type": "row_wise", "compute_kernel": "fused",
//                      "shards": [{"rank": 0, "offset": [0, 0], "size": [3, 16]}, …]}, …}}
//
// with offset = [row, column], size = [rows, columns]. local_size may be left out (world_size), and
// compute_kernel ("fused").
#include <span>
#include <string>

#include "sharding/plan/plan.h"

namespace tessera {

// Returns the document, one table a line.
std::string PlanToJson(const ShardingPlan& plan);

// Throws Error, which begins with `where` (a file's name) and names the field, for a document that
// is not a plan of this version. What it says of tables is CheckPlan's to check.
ShardingPlan PlanFromJson(const std::string& text, const std::string& where);

// A short line for each shard, with its table's name: ranks compare them, and show the first that
// differs.
std::string PlanLines(const ShardingPlan& plan);

}  // namespace tessera
#endif  // TESSERA_SHARDING_PLAN_PLAN_JSON_H_
