#ifndef TESSERA_PLANNER_SEARCH_SEARCH_ITEMS_H_
#define TESSERA_PLANNER_SEARCH_SEARCH_ITEMS_H_
// The items that the search places. An item is a table, or tables that stay together; a candidate
// is one option of each of its tables, of one shape, whose i-th shards share a rank. Candidates
// that another one of the item beats in everything are left out.
#include <limits>
#include <string>
#include <vector>

#include "planner/model/model.h"
#include "planner/model/placement_rules.h"
#include "planner/model/sharding_option.h"

namespace tessera::internal {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// The measure of the busiest rank.
enum class SearchCost { kPerf, kHbm };

// Consecutive shards that cost the same.
struct PieceRun {
  int64_t count = 1;
  double cost = 0;
  Storage storage = {};
};

struct Candidate {
  std::vector<const ShardingOption*> members;  // one a table of the item
  ShardingType type = ShardingType::kTableWise;
  std::vector<PieceRun> pieces;
  int64_t shards = 0;
  double total = 0, largest = 0;  // cost: the sum, and the dearest shard's
  Storage sum = {}, most = {};

  PartitionBy partition_by() const { return PartitionByOf(type); }
  // A column_wise option of a key-value kernel must not have two shards on a rank.
  bool distinct_ranks() const;
};

struct Item {
  std::vector<int> tables;
  std::vector<Candidate> candidates;  // by total, the cheapest first
  std::vector<int> apart;             // numbers of the rules it is under
};

// Throws PlannerError for rules that name no table, or one twice, and for tables together that have
// no shape in common.
std::vector<Item> MakeItems(const PlannerModel& model, const std::vector<ShardingOption>& options,
                            const PlacementRules& rules, SearchCost cost);

// The candidate that is this option, or one that beats it; -1 if there is none. REQUIRES: an item
// of one table.
int CandidateFor(const Item& item, const ShardingOption& option, SearchCost cost);

// One option as a candidate of its table alone.
Candidate MakeCandidate(const ShardingOption& option, SearchCost cost);

// False for a load factor that no cache can have; such an option is no plan.
bool IsSound(const ShardingOption& option);

// The table of a name, full or bare. Throws PlannerError for none, and for several.
int TableOf(const PlannerModel& model, const std::string& name);

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_SEARCH_SEARCH_ITEMS_H_
