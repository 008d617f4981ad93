#ifndef TESSERA_SHARDING_PLAN_COLUMN_CUTS_H_
#define TESSERA_SHARDING_PLAN_COLUMN_CUTS_H_
// Which tables a plan may cut by columns: those whose rule (optim/column_cut.h) bears it.
#include <string>

#include "sharding/plan/plan.h"

namespace tessera {

// column_wise, table_column_wise and grid_shard.
bool CutsColumns(ShardingType type);

// Throws Error, naming table, type and rule, where the sharding cuts what must stay whole.
void CheckColumnCut(const std::string& table, const TableSharding& sharding, int64_t dim,
                    const std::string& rule);

}  // namespace tessera
#endif  // TESSERA_SHARDING_PLAN_COLUMN_CUTS_H_
