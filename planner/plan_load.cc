#include "planner/plan_load.h"

#include <algorithm>

#include "planner/cost_models.h"
#include "planner/model/at.h"
#include "planner/plan_conversion.h"

namespace tessera {
namespace {

using internal::At;

// The rank with the largest value; the first of equal ones.
template <typename Value>
int Largest(const std::vector<RankStats>& ranks, Value&& value) {
  const auto less = [&](const RankStats& a, const RankStats& b) { return value(a) < value(b); };
  return static_cast<int>(std::max_element(ranks.begin(), ranks.end(), less) - ranks.begin());
}

void SetFromPrediction(const StepPrediction& step, PlanLoad& load) {
  constexpr double kMilliseconds = 1e3;
  load.whole_step = true;
  load.step_ms = kMilliseconds * step.seconds;
  load.busiest_rank = step.busiest;
  const RankSeconds& rank = step.ranks[At(step.busiest)];
  load.compute_ms =
      kMilliseconds * (rank.lookup + rank.tiers + rank.disk + rank.update + rank.dense);
  load.exchange_ms = kMilliseconds * rank.total() - load.compute_ms;
}

void SetFromPrices(const EmbeddingShardingPlanner& planner, PlanLoad& load) {
  std::vector<double> perf;
  std::vector<Storage> storage;
  for (const RankStats& rank : load.stats.ranks) {
    perf.push_back(rank.perf_total);
    storage.push_back({.hbm = rank.sparse_hbm});
  }
  load.step_ms = planner.Rate(perf, storage);
  load.busiest_rank =
      Largest(load.stats.ranks, [](const RankStats& rank) { return rank.perf_total; });
  const ShardPerf& rank = load.stats.ranks[At(load.busiest_rank)].perf;
  load.compute_ms = rank.fwd_compute + rank.bwd_compute;
  load.exchange_ms = rank.fwd_comms + rank.bwd_comms;
  load.prefetch_ms = rank.prefetch;
}

std::vector<PlacedOption> Priced(const EmbeddingShardingPlanner& planner,
                                 const ShardingPlan& plan) {
  const EmbeddingEnumerator enumerator = planner.enumerator();
  const std::vector<PlannerTable>& tables = planner.model().tables;
  std::vector<PlacedOption> priced;
  for (size_t t = 0; t < tables.size(); ++t) {
    const TableSharding& sharding = plan.tables.at(tables[t].name);
    PlacedOption placed;
    placed.option = enumerator.Price(static_cast<int>(t), sharding.type,
                                     PlanKernelOf(sharding.kernel), sharding.shards);
    for (const Shard& shard : sharding.shards) placed.ranks.push_back(shard.rank);
    priced.push_back(std::move(placed));
  }
  return priced;
}

// `plan` is looked at where the cost model predicts whole steps.
template <typename MakePlan>
PlanLoad LoadOf(const EmbeddingShardingPlanner& planner, const std::vector<PlacedOption>& tables,
                const ReservedMemory& reserved, MakePlan&& plan) {
  PlanLoad load;
  load.stats = ComputeStats(planner.topology(), planner.model(), tables, reserved);
  if (const StepModel* model = StepModelOf(planner.options()))
    SetFromPrediction(model->Predict(plan()), load);
  else
    SetFromPrices(planner, load);
  return load;
}

}  // namespace

std::string PlanLoad::bound_by() const {
  const double most = std::max({compute_ms, exchange_ms, prefetch_ms});
  return most == compute_ms ? "compute" : most == exchange_ms ? "exchange" : "prefetch";
}

double PlanLoad::bound_share() const {
  const double sum = compute_ms + exchange_ms + prefetch_ms;
  return sum > 0 ? std::max({compute_ms, exchange_ms, prefetch_ms}) / sum : 0;
}

PlanLoad LoadOfPlan(const EmbeddingShardingPlanner& planner, const ShardingPlan& plan) {
  const ReservedMemory reserved =
      Reserve(planner.topology(), planner.model(), planner.options().reservation);
  return LoadOf(planner, Priced(planner, plan), reserved, [&] { return plan; });
}

PlanLoad LoadOfPlan(const EmbeddingShardingPlanner& planner, const PlanResult& plan) {
  CheckAllTablesPlaced(planner.topology(), planner.model(), plan.tables);
  return LoadOf(planner, plan.tables, plan.reserved,
                [&] { return ToShardingPlan(planner.topology(), planner.model(), plan.tables); });
}

int FullestHbmRank(const PlanStats& stats) {
  return Largest(stats.ranks, [](const RankStats& rank) { return rank.hbm; });
}

int FullestDdrRank(const PlanStats& stats) {
  return Largest(stats.ranks, [](const RankStats& rank) { return rank.ddr; });
}

}  // namespace tessera
