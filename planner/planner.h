#ifndef TESSERA_PLANNER_PLANNER_H_
#define TESSERA_PLANNER_PLANNER_H_
// Finds a plan for a topology and a model: which option each table gets, and on which ranks its
// shards lie, so that the busiest rank has least to do and no rank holds more than it can.
//
//   EmbeddingShardingPlanner planner(topology, model);
//   const PlanResult plan = planner.Plan();
//   const auto sharding = ToShardingPlan(topology, model, plan.tables);  // plan_conversion.h
//
// Memory is reserved for the rest of the model, options are enumerated and priced, TorchRec's
// proposers are walked where they are asked for, and the planner's own search tries to do better,
// from scratch and from what the proposers found. The result says how far it can be from the best
// plan there is. The same input gives the same plan on every machine.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/model/placement_rules.h"
#include "planner/model/reservation.h"
#include "planner/search/enumerator.h"
#include "planner/search/proposer.h"

namespace tessera {

// The rating of a plan: the busiest rank's Σ of totals (where ranks share cores, at least its
// node's Σ over cores), or the fullest rank's HBM.
enum class PerfModel { kMaxRankPerf, kMaxRankHbm };
std::string ToString(PerfModel model);  // "max_rank_perf", "max_rank_hbm"
PerfModel ParsePerfModel(const std::string& name);

struct PlannerOptions {
  // The cost model; TorchRec's if null.
  std::shared_ptr<const PerfEstimator> perf = nullptr;
  std::shared_ptr<const StorageEstimator> storage = nullptr;
  OptionRules option_rules = OptionRules::kTorchRec;
  Reservation reservation = {};
  PerfModel perf_model = PerfModel::kMaxRankPerf;
  // Tried in order before the search, each proposal placed by the partitioner. Skipped if `rules`
  // say where tables lie, which proposers do not know; rank_caps go with them.
  std::vector<ProposerSettings> proposers = {};
  PartitionerSettings partitioner = {};
  bool search = true;  // false: the proposers alone, which then need to be there
  double effort = 1;   // how much the search works, to its default; 0.01 is hasty, 10 is patient
  PlacementRules rules = {};
};

struct PlanResult {
  std::vector<PlacedOption> tables;  // in the order of the enumerator
  double rating = 0;                 // by the perf model
  bool rated_by_node = false;        // rating is a node's Σ over cores, above any rank's
  double max_rank_perf = 0;
  std::vector<double> rank_perf;
  std::vector<Storage> rank_storage;
  ReservedMemory reserved;
  // No plan is rated below lower_bound; threshold_bound is the same without looking at memory. Both
  // are 0 where no bound is known (plans with scaled caches).
  double threshold_bound = 0, lower_bound = 0;
  bool proven_optimal = false;  // nothing is better, by an exhaustive search or by the bound
  std::string found_by;         // "search", or the proposer's name
  int64_t moved_bytes = 0;      // from where the existing plan has them, if there is one
  std::vector<ShardingOption> options;  // all there were, in the order of the enumerator
  int64_t num_options = 0;
  int64_t num_proposals = 0, num_plans = 0;  // of the proposers: tried, and placed

  // (rating − lower_bound) / lower_bound
  double gap() const { return lower_bound > 0 ? rating / lower_bound - 1 : 0; }
};

class EmbeddingShardingPlanner {
 public:
  // Throws PlannerError for a topology or a model that is none, and Error for options of which one
  // would be ignored beside another: the search off beside rules that say where tables lie, or
  // beside no proposers; most_moved_bytes without an existing plan; rank_caps of hbm beside
  // ranks that are CPUs. (kMaxRankHbm rates all plans of CPUs 0, as TorchRec's storage model does.)
  EmbeddingShardingPlanner(Topology topology, PlannerModel model, PlannerOptions options = {});

  // Leaves out tables whose constraints ask for a device_group that the topology has not, as
  // TorchRec does; ToShardingPlan refuses such a plan. Throws PlannerError, which says which tables
  // find no room, how much is missing and what to relax, if there is no plan, or none of a module.
  PlanResult Plan() const;

  const Topology& topology() const { return topology_; }
  const PlannerModel& model() const { return model_; }
  const PlannerOptions& options() const { return options_; }
  // Returns the enumerator of the cost model. It refers to the planner.
  EmbeddingEnumerator enumerator() const;
  // The rating of a plan that gives each rank so many milliseconds, and so much memory.
  double Rate(const std::vector<double>& perf, const std::vector<Storage>& storage) const;

 private:
  Topology topology_;
  PlannerModel model_;
  PlannerOptions options_;
};

}  // namespace tessera
#endif  // TESSERA_PLANNER_PLANNER_H_
