#ifndef TESSERA_TRAIN_RANKS_PLAN_H_
#define TESSERA_TRAIN_RANKS_PLAN_H_
// Plans by a word, for commands.
//
//   ""             tables of more elements than an equal share of all for each rank: by rows over
//                  all ranks; the others dealt out
//   table_wise     dealt out: the largest first, each to the rank that has the least so far
//   table_row_wise dealt out to nodes, each by rows over the ranks of its node
//   row_wise, column_wise, data_parallel   every table so, over all ranks
//   anything else  a file that ReadPlanFile reads
#include <span>
#include <string>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "embedding/managed_collision/managed_collision_config.h"
#include "sharding/plan/plan_makers.h"

namespace tessera {

// Rows of a table of raw ids are cut between its parts (ManagedTableConfig). Throws Error, which
// names --plan and the choice, for a file that cannot be read or does not fit, and for columns that
// the ranks do not divide.
ShardingPlan MakeRanksPlan(const std::string& choice, const RankLayout& layout,
                           std::span<const TableShape> tables,
                           const ManagedTableConfigs& managed = {});

// Throws Error for tables whose rule does not go with the plan of --plan `choice`: columns cut of
// one that needs whole rows, the kernel dense of another rule, and a cache or a disk of one that
// updates no rows.
void CheckPlanOfRules(std::span<const EmbeddingBagConfig> tables, const ShardingPlan& plan,
                      const std::string& choice);

// Throws Error for tables of raw ids that ranks cannot take under the plan of --plan `choice`:
// those in no parts, and those of which the plan cuts a part.
void CheckPlanOfRawIds(std::span<const EmbeddingBagConfig> tables,
                       const ManagedTableConfigs& managed, const ShardingPlan& plan,
                       const std::string& choice);

// Returns the tables of `type` that the plan would cut, had they more rows or wider columns, and
// that one rank has whole: "kinds [300, 4]". None of one rank, nor of types that cut nothing.
std::vector<std::string> UncutTables(const ShardingPlan& plan, ShardingType type);
// Returns the tables of `type` that are cut, but lie on fewer ranks than the type cuts for (all, or
// those of a node), as tables of few rows or columns do: "kinds [3, 16] on 3 of 4". None of
// grid_shard, nor of types that cut nothing.
std::vector<std::string> TablesOnFewerRanks(const ShardingPlan& plan, ShardingType type);

}  // namespace tessera
#endif  // TESSERA_TRAIN_RANKS_PLAN_H_
