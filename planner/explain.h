#ifndef TESSERA_PLANNER_EXPLAIN_H_
#define TESSERA_PLANNER_EXPLAIN_H_
// Why a plan is as it is: for each table, the plan's rating with the table's next best option; and
// what the busiest rank spends its time on.
#include <optional>
#include <string>
#include <vector>

#include "planner/planner.h"

namespace tessera {

struct RunnerUp {
  ShardingType type = ShardingType::kTableWise;
  PlanKernel kernel = PlanKernel::kFused;
  double rating = 0;      // of the plan with this option for this table, all others as they are
  double total_perf = 0;  // Σ over its shards
};

struct TableExplanation {
  std::string table;                  // full name
  int64_t num_options = 0;            // that rules allow; one under two names counts once
  double total_perf = 0;              // of the option that it has
  std::optional<RunnerUp> runner_up;  // none where no other option finds room
  std::string rule = {};              // that leaves less room: "apart", "together", or none
};

struct PlanExplanation {
  std::vector<TableExplanation> tables;  // as in the plan
  int bottleneck_rank = 0;
  double bottleneck_perf = 0;
  std::string limited_by;  // the largest part of it: "fwd_compute", "fwd_comms", …
  double limited_by_perf = 0;
  // Tables on it, the most expensive first, with what each adds to it.
  std::vector<std::pair<std::string, double>> bottleneck_tables;
  double bottleneck_memory_share = 0;  // of the memory for tables, the fuller of HBM and DDR
};

// Explains a plan that this planner made. Other options obey the planner's rules, too; a table that
// stays together with others stays where it is. Takes as long as trying each option at its best
// place once.
PlanExplanation Explain(const EmbeddingShardingPlanner& planner, const PlanResult& plan);

// A line a table, the busiest rank first.
std::string ExplanationText(const PlanExplanation& explanation, const PlanResult& plan);

}  // namespace tessera
#endif  // TESSERA_PLANNER_EXPLAIN_H_
