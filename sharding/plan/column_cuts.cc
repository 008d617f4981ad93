#include "sharding/plan/column_cuts.h"

#include <algorithm>

#include "optim/column_cut.h"
#include "runtime/base/check.h"

namespace tessera {

bool CutsColumns(ShardingType type) {
  return type == ShardingType::kColumnWise || type == ShardingType::kTableColumnWise ||
         type == ShardingType::kGridShard;
}

void CheckColumnCut(const std::string& table, const TableSharding& sharding, int64_t dim,
                    const std::string& rule) {
  const bool cut = std::any_of(sharding.shards.begin(), sharding.shards.end(),
                               [&](const Shard& shard) { return shard.columns != dim; });
  if (!cut || ColumnCutOf(rule) != ColumnCut::kMustBeWhole) return;
  throw Error(
      Format("plan: table {} ({}): its rule {} needs whole rows, since it adds a row's "
             "halves to each other; expected table_wise, row_wise, table_row_wise or "
             "data_parallel",
             table, sharding.type, rule));
}

}  // namespace tessera
