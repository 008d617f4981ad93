#include "planner/planner.h"

#include <algorithm>
#include <set>

#include "planner/existing_plan.h"
#include "planner/infeasible.h"
#include "planner/model/planner_error.h"
#include "planner/proposal_walk.h"
#include "planner/rank_rules.h"
#include "planner/search/exact_search.h"
#include "planner/search/lower_bound.h"
#include "planner/search/plan_search.h"
#include "planner/torchrec/torchrec_estimators.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/base/names.h"

namespace tessera {
namespace {

using namespace internal;  // NOLINT: the planner's own parts

constexpr const char* kPerfModelNames[] = {"max_rank_perf", "max_rank_hbm"};
// A plan of the search replaces the proposers' if it is better by more than rounding.
constexpr double kBetter = 1e-6;
constexpr size_t kNamedTables = 5;  // of those that an error is about, at most

// "together and apart": the rules that say where tables lie.
std::string NamesOf(const PlacementRules& rules) {
  std::vector<std::string> names;
  if (!rules.together.empty()) names.emplace_back("together");
  if (!rules.apart.empty()) names.emplace_back("apart");
  if (rules.existing) names.emplace_back("existing");
  return Joined(names, ", ", " and ");
}

void CheckSearchOff(const PlannerOptions& options) {
  TESSERA_CHECK(!options.rules.place_tables(),
                "planner: search = false beside rules ({}): proposers do not know them, so nothing "
                "would be tried: leave the search on, or give no rules but rank_caps",
                NamesOf(options.rules));
  TESSERA_CHECK(!options.proposers.empty(),
                "planner: search = false beside no proposers: nothing would be tried: leave the "
                "search on, or name a proposer");
}

void CheckOptions(const PlannerOptions& options, const Topology& topology) {
  TESSERA_CHECK(options.effort >= 0 && options.effort <= 1000,
                "expected an effort of 0 to 1000, got {}", options.effort);
  if (!options.search) CheckSearchOff(options);
  if (options.rules.most_moved_bytes && !options.rules.existing)
    throw PlannerError(
        PlannerErrorKind::kPlacementRules,
        "placement rules: most_moved_bytes beside no existing plan, from which bytes "
        "would move");
  if (topology.compute_device == ComputeDevice::kCpu) CheckCapsOfCpus(options.rules.rank_caps);
}

SearchCost SearchCostOf(PerfModel model) {
  return model == PerfModel::kMaxRankHbm ? SearchCost::kHbm : SearchCost::kPerf;
}

// The number of ranks that work at a time: the cost of all ranks is divided by it.
double Servers(const Topology& t) {
  const double ranks = t.world_size;
  if (t.cores_per_node == 0) return ranks;
  return std::min(ranks, ranks / t.local_world_size * t.cores_per_node);
}

// One run of the planner.
class Run {
 public:
  explicit Run(const EmbeddingShardingPlanner& planner)
      : planner_(planner),
        topology_(planner.topology()),
        model_(planner.model()),
        settings_(planner.options()),
        enumerator_(planner.enumerator()) {}

  PlanResult Do() {
    result_.reserved = Reserve(topology_, model_, settings_.reservation);
    result_.reserved.capacity = Capped(topology_, result_.reserved, settings_.rules);
    capacity_ = result_.reserved.capacity;
    options_ = enumerator_.Enumerate();
    result_.num_options = static_cast<int64_t>(options_.size());
    if (!settings_.rules.place_tables() && !settings_.proposers.empty())
      Walk(settings_.proposers, false);
    Search();
    if (result_.tables.empty() && !options_.empty())
      ThrowInfeasible(planner_, options_, capacity_, least_storage_);
    CheckResult();
    Finish();
    result_.options = std::move(options_);
    return std::move(result_);
  }

 private:
  void Walk(const std::vector<ProposerSettings>& proposers, bool stop_at_first_plan) {
    const SearchSpace space{
        options_, capacity_, &model_,
        [&](const ShardingOption& option, PlanKernel kernel, std::optional<double> load_factor) {
          return enumerator_.WithCache(option, kernel, load_factor);
        }};
    const auto rate = [&](const Proposal& proposal, const Placement& placement) {
      return planner_.Rate(RankPerf(topology_.world_size, proposal, placement),
                           RankStorage(topology_.world_size, proposal, placement));
    };
    WalkResult walk = WalkProposals({proposers, settings_.partitioner, stop_at_first_plan},
                                    topology_, space, rate);
    result_.tables = std::move(walk.best);
    result_.rating = walk.rating;
    result_.found_by = walk.found_by;
    result_.num_proposals = walk.num_proposals;
    result_.num_plans = walk.num_plans;
    least_storage_ = walk.least_storage;
  }

  void Search() {
    const std::vector<Item> items = MakeItems(model_, options_, settings_.rules, cost_);
    CheckApart(settings_.rules, topology_.world_size);
    const double servers = Servers(topology_);
    result_.threshold_bound = ThresholdBound(items, servers);
    result_.lower_bound = MemoryBound(items, servers, capacity_, result_.threshold_bound);
    if (!settings_.search) return;
    SearchProblem problem{items, topology_, capacity_, result_.lower_bound, settings_.effort};
    if (!settings_.rules.existing) {
      SearchFreely(problem);
      return Prove(problem, servers);
    }
    ExistingPlan existing(topology_, model_, *settings_.rules.existing);
    if (settings_.rules.most_moved_bytes) {
      problem.moved_bytes = [&](int, const Candidate& candidate, const std::vector<int>& ranks) {
        return existing.MovedBytes(candidate, ranks);
      };
      problem.most_moved_bytes = *settings_.rules.most_moved_bytes;
    }
    Replan(problem, existing);
    Prove(problem, servers);
    for (const PlacedOption& placed : result_.tables)
      result_.moved_bytes += existing.MovedBytes(placed.option, placed.ranks);
  }

  void SearchFreely(const SearchProblem& problem) {
    Keep(problem.items, SearchPlan(problem));
    if (result_.tables.empty() && !settings_.rules.place_tables() && EachFitsSomewhere(problem))
      Walk(LastResort(), true);
    if (result_.found_by == "search" || result_.tables.empty()) return;
    const Solution start = MakeSolution(problem);
    if (start.found()) Keep(problem.items, Improve(problem, start));
  }

  // Settings of TorchRec's proposers, which now and then find a place when memory is short.
  std::vector<ProposerSettings> LastResort() const {
    std::vector<ProposerSettings> proposers = TorchRecProposers();
    const double share = std::min(1.0, settings_.effort);
    for (ProposerSettings& proposer : proposers)
      proposer.max_proposals =
          static_cast<int64_t>(share * static_cast<double>(proposer.max_proposals));
    return proposers;
  }

  // Whether each item has a candidate whose shards fit on some rank.
  static bool EachFitsSomewhere(const SearchProblem& problem) {
    return std::all_of(problem.items.begin(), problem.items.end(), [&](const Item& item) {
      return std::any_of(item.candidates.begin(), item.candidates.end(), [&](const Candidate& c) {
        return std::any_of(problem.capacity.begin(), problem.capacity.end(),
                           [&](const Storage& rank) { return c.most.FitsIn(rank); });
      });
    });
  }

  void Replan(const SearchProblem& problem, ExistingPlan& existing) {
    std::vector<PlacedItem> known;
    std::vector<std::string> lost;  // tables whose place is not allowed any more
    for (const Item& item : problem.items) {
      known.push_back(existing.Find(item).value_or(PlacedItem{}));
      if (known.back().candidate < 0 && existing.Has(item))
        lost.push_back(model_.tables[static_cast<size_t>(item.tables[0])].name);
    }
    const Solution start = Complete(problem, known);
    if (start.found()) {
      Keep(problem.items, Improve(problem, start));
    } else if (!settings_.rules.most_moved_bytes) {
      Keep(problem.items, SearchPlan(problem));
    } else {
      throw PlannerError(
          PlannerErrorKind::kPlacementRules,
          Format("placement rules: from the existing plan, no plan was found that moves at most {} "
                 "bytes; allow more{}",
                 *settings_.rules.most_moved_bytes,
                 lost.empty() ? ", or relax what does not fit any more"
                              : "; it has tables where or as constraints no longer allow: " +
                                    JoinedFirst(lost, kNamedTables)));
    }
  }

  void Prove(const SearchProblem& problem, double servers) {
    if (result_.tables.empty() || result_.rating <= result_.lower_bound * (1 + kProven)) return;
    const ExactResult exact = SearchExactly(problem, servers, result_.rating);
    Keep(problem.items, exact.better);
    if (!exact.proven) return;
    result_.proven_optimal = true;
    const double best = std::min(result_.rating, exact.better.rating);
    result_.lower_bound = std::max(result_.lower_bound, best);
  }

  void Keep(const std::vector<Item>& items, const Solution& solution) {
    if (!solution.found() ||
        (!result_.tables.empty() && solution.rating >= result_.rating * (1 - kBetter)))
      return;
    result_.tables.clear();
    for (size_t i = 0; i < items.size(); ++i) {
      const PlacedItem& placed = solution.placed[i];
      for (const ShardingOption* option :
           items[i].candidates[static_cast<size_t>(placed.candidate)].members)
        result_.tables.push_back({*option, placed.ranks});
    }
    SortTables();
    result_.rating = solution.rating;
    result_.found_by = "search";
  }

  // Sorts the tables into the order of the options.
  void SortTables() {
    std::vector<size_t> place(model_.tables.size());
    for (size_t o = options_.size(); o-- > 0;) place[static_cast<size_t>(options_[o].table)] = o;
    std::sort(result_.tables.begin(), result_.tables.end(),
              [&](const PlacedOption& a, const PlacedOption& b) {
                return place[static_cast<size_t>(a.option.table)] <
                       place[static_cast<size_t>(b.option.table)];
              });
  }

  // The proposers' solution, to start from; not found if one of its options is no candidate.
  Solution MakeSolution(const SearchProblem& problem) const {
    std::vector<const PlacedOption*> of_table(model_.tables.size());
    for (const PlacedOption& placed : result_.tables)
      of_table[static_cast<size_t>(placed.option.table)] = &placed;
    Solution start;
    for (const Item& item : problem.items) {
      const PlacedOption* placed = of_table[static_cast<size_t>(item.tables[0])];
      const int candidate = placed == nullptr ? -1 : CandidateFor(item, placed->option, cost_);
      if (candidate < 0) return {};
      start.placed.push_back({candidate, placed->ranks});
    }
    start.rating = Rate(problem, start.placed);
    return start;
  }

  void CheckResult() const {
    std::set<int> modules;
    for (const PlacedOption& placed : result_.tables) {
      modules.insert(placed.option.module);
      CheckKernel(placed.option);
    }
    for (size_t m = 0; m < model_.modules.size(); ++m)
      if (!modules.contains(static_cast<int>(m)))
        throw PlannerError(
            PlannerErrorKind::kMissingModuleInPlan,
            Format("module {}: none of its tables is in the plan (their device_group is not {}, or "
                   "it has none)",
                   model_.modules[m].path, topology_.compute_device));
  }

  void CheckKernel(const ShardingOption& option) const {
    if (IsSound(option)) return;
    throw PlannerError(
        PlannerErrorKind::kInvalidComputeKernel,
        Format("table {}: {} with a cache load factor of {}: expected one above 0 and below 1",
               model_.full_name(model_.tables[static_cast<size_t>(option.table)]), option.kernel,
               *option.cache_load_factor));
  }

  void Finish() {
    result_.rank_perf.assign(static_cast<size_t>(topology_.world_size), 0.0);
    result_.rank_storage.assign(static_cast<size_t>(topology_.world_size), Storage{});
    for (const PlacedOption& placed : result_.tables) {
      placed.option.ForEachShard([&](int64_t i, const ShardRun& run) {
        const auto rank = static_cast<size_t>(placed.ranks[static_cast<size_t>(i)]);
        result_.rank_perf[rank] += run.perf.total();
        result_.rank_storage[rank] += run.storage;
      });
    }
    result_.max_rank_perf = *std::max_element(result_.rank_perf.begin(), result_.rank_perf.end());
    result_.rating = planner_.Rate(result_.rank_perf, result_.rank_storage);
    result_.rated_by_node =
        settings_.perf_model == PerfModel::kMaxRankPerf && result_.rating > result_.max_rank_perf;
    // A rating below the bound is possible only with scaled caches: these options are unknown to
    // the bound.
    if (result_.rating < result_.lower_bound * (1 - kProven))
      result_.threshold_bound = result_.lower_bound = 0;
    const bool at_bound = result_.lower_bound > 0 && result_.gap() <= kProven;
    result_.proven_optimal = result_.lower_bound > 0 && (result_.proven_optimal || at_bound);
  }
  static constexpr double kProven = 1e-9;

  const EmbeddingShardingPlanner& planner_;
  const Topology& topology_;
  const PlannerModel& model_;
  const PlannerOptions& settings_;
  EmbeddingEnumerator enumerator_;
  const SearchCost cost_ = SearchCostOf(settings_.perf_model);
  std::vector<Storage> capacity_;
  std::vector<ShardingOption> options_;
  std::optional<Storage> least_storage_;
  PlanResult result_;
};

}  // namespace

std::string ToString(PerfModel model) { return kPerfModelNames[static_cast<int>(model)]; }
PerfModel ParsePerfModel(const std::string& name) {
  return ParseName<PerfModel>(name, "perf model", kPerfModelNames);
}

EmbeddingShardingPlanner::EmbeddingShardingPlanner(Topology topology, PlannerModel model,
                                                   PlannerOptions options)
    : topology_(std::move(topology)), model_(std::move(model)), options_(std::move(options)) {
  if (!options_.perf) options_.perf = std::make_shared<TorchRecPerfEstimator>();
  if (!options_.storage) options_.storage = std::make_shared<TorchRecStorageEstimator>();
  CheckTopology(topology_);
  CheckModel(model_);
  CheckOptions(options_, topology_);
}

EmbeddingEnumerator EmbeddingShardingPlanner::enumerator() const {
  return EmbeddingEnumerator(topology_, model_, *options_.perf, *options_.storage,
                             options_.option_rules);
}

double EmbeddingShardingPlanner::Rate(const std::vector<double>& perf,
                                      const std::vector<Storage>& storage) const {
  double rating = 0;
  if (options_.perf_model == PerfModel::kMaxRankHbm) {
    for (const Storage& rank : storage) rating = std::max(rating, static_cast<double>(rank.hbm));
    return rating;
  }
  const auto local = static_cast<size_t>(topology_.local_world_size);
  for (size_t first = 0; first < perf.size(); first += local) {
    double node = 0;
    for (size_t r = first; r < first + local; ++r) {
      rating = std::max(rating, perf[r]);
      node += perf[r];
    }
    if (topology_.cores_per_node > 0) rating = std::max(rating, node / topology_.cores_per_node);
  }
  return rating;
}

PlanResult EmbeddingShardingPlanner::Plan() const { return Run(*this).Do(); }

}  // namespace tessera
