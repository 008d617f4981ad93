#ifndef TESSERA_SHARDING_PLAN_TORCHREC_PLAN_H_
#define TESSERA_SHARDING_PLAN_TORCHREC_PLAN_H_
// Reads plans that TorchRec printed:
//
//   text   str(plan): after "module: PATH" a table of param | sharding type | compute kernel |
//          ranks, then one of param | shard offsets | shard sizes | placement, both for each
//          module. Lines beside them are passed over. ToString of our plans is the same, less the
//          modules.
//   JSON   {module: {param: {"sharding_type", "compute_kernel", "ranks", "shards"}}}, or one
//          module, with "shards" a list of {"shard_offsets", "shard_sizes", "placement"}, or null
//          for tables that are not cut; or, of dataclasses.asdict, {"plan": …} and
//          {"sharding_spec": {"shards": …}} round them
//
// Tables of all modules go into one plan by their param's name; other fields are passed over.
#include <span>
#include <string>

#include "sharding/plan/plan_makers.h"

namespace tessera {

// Throws Error, which begins with `where`, for text that is neither; for a name in two modules; and
// as CheckPlan does. `tables` and `layout` give what TorchRec does not print: the rows and columns
// of tables that every rank has whole, and the nodes.
ShardingPlan ParseTorchRecPlan(const std::string& text, const std::string& where,
                               const RankLayout& layout, std::span<const TableShape> tables);

// The plan in a file: ours (plan_json.h), or one of these; checked. Throws Error, which names the
// file, for one that cannot be read, and for a plan of another number of ranks.
ShardingPlan ReadPlanFile(const std::string& path, const RankLayout& layout,
                          std::span<const TableShape> tables);

}  // namespace tessera
#endif  // TESSERA_SHARDING_PLAN_TORCHREC_PLAN_H_
