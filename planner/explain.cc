#include "planner/explain.h"

#include <algorithm>

#include "planner/model/at.h"
#include "planner/search/placement_state.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

using internal::At;
using internal::Item;
using internal::MakeCandidate;
using internal::PlacementState;
using internal::SearchCost;
using internal::Spot;
using internal::TableOf;

constexpr size_t kShownTables = 200, kShownBottleneck = 10;

// Whether two options differ in the name alone: column_wise with one shard is table_wise.
bool AreAlike(const internal::Candidate& a, const internal::Candidate& b) {
  return std::equal(a.pieces.begin(), a.pieces.end(), b.pieces.begin(), b.pieces.end(),
                    [](const internal::PieceRun& x, const internal::PieceRun& y) {
                      return x.count == y.count && x.cost == y.cost && x.storage == y.storage;
                    });
}

// Ties between one table and others, beside its own constraints.
struct Bonds {
  std::vector<int> apart;
  bool together = false;  // it cannot leave the ranks, nor take another shape
};

std::vector<Bonds> BondsOf(const PlannerModel& model, const PlacementRules& rules) {
  std::vector<Bonds> bonds(model.tables.size());
  for (const std::vector<std::string>& names : rules.together)
    for (const std::string& name : names) bonds[At(TableOf(model, name))].together = true;
  for (size_t rule = 0; rule < rules.apart.size(); ++rule)
    for (const std::string& name : rules.apart[rule])
      bonds[At(TableOf(model, name))].apart.push_back(static_cast<int>(rule));
  return bonds;
}

void AddOther(const ShardingOption& option, SearchCost cost, const Bonds& bonds, Item& item) {
  if (option.num_shards() == 0 || !internal::IsSound(option)) return;
  if (bonds.together && option.type != item.candidates[0].type) return;
  internal::Candidate candidate = MakeCandidate(option, cost);
  if (!AreAlike(candidate, item.candidates[0])) item.candidates.push_back(std::move(candidate));
}

// One item for each table: candidate 0 is the chosen option, the others are the table's other ones.
std::vector<Item> ListItems(const PlanResult& plan, const std::vector<Bonds>& bonds,
                            SearchCost cost) {
  std::vector<std::vector<const ShardingOption*>> of_table(bonds.size());
  for (const ShardingOption& option : plan.options) of_table[At(option.table)].push_back(&option);
  std::vector<Item> items;
  for (const PlacedOption& placed : plan.tables) {
    Item item{.tables = {placed.option.table},
              .candidates = {MakeCandidate(placed.option, cost)},
              .apart = bonds[At(placed.option.table)].apart};
    for (const ShardingOption* option : of_table[At(placed.option.table)])
      AddOther(*option, cost, bonds[At(placed.option.table)], item);
    items.push_back(std::move(item));
  }
  return items;
}

std::optional<RunnerUp> RunnerUpOf(PlacementState& state, const Item& item, int index,
                                   bool together) {
  const internal::PlacedItem was = state.placed()[At(index)];
  std::optional<RunnerUp> best;
  state.Remove(index);
  for (int c = 1; c < static_cast<int>(item.candidates.size()); ++c) {
    const Spot spot = together ? state.SpotOn(index, c, was.ranks) : state.BestSpot(index, c);
    if (!spot.found()) continue;
    state.Place(index, c, spot.ranks);
    const ShardingOption& option = *item.candidates[At(c)].members[0];
    const RunnerUp own{option.type, option.kernel, state.Rating(), item.candidates[At(c)].total};
    if (!best || std::pair(own.rating, own.total_perf) < std::pair(best->rating, best->total_perf))
      best = own;
    state.Remove(index);
  }
  state.Place(index, was.candidate, was.ranks);
  return best;
}

void SetBottleneck(const PlannerModel& model, const PlanResult& plan, PlanExplanation& out) {
  const auto busiest = std::max_element(plan.rank_perf.begin(), plan.rank_perf.end());
  out.bottleneck_rank = static_cast<int>(busiest - plan.rank_perf.begin());
  out.bottleneck_perf = *busiest;
  ShardPerf sum;
  for (const PlacedOption& placed : plan.tables) {
    double own = 0;
    placed.option.ForEachShard([&](int64_t i, const ShardRun& run) {
      if (placed.ranks[static_cast<size_t>(i)] != out.bottleneck_rank) return;
      own += run.perf.total();
      sum += run.perf;
    });
    if (own > 0)
      out.bottleneck_tables.emplace_back(model.full_name(model.tables[At(placed.option.table)]),
                                         own);
  }
  std::stable_sort(out.bottleneck_tables.begin(), out.bottleneck_tables.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  const std::pair<const char*, double> parts[] = {{"fwd_compute", sum.fwd_compute},
                                                  {"fwd_comms", sum.fwd_comms},
                                                  {"bwd_compute", sum.bwd_compute},
                                                  {"bwd_comms", sum.bwd_comms},
                                                  {"prefetch", sum.prefetch}};
  for (const auto& [name, value] : parts) {
    if (value <= out.limited_by_perf && !out.limited_by.empty()) continue;
    out.limited_by = name;
    out.limited_by_perf = value;
  }
  const Storage &used = plan.rank_storage[At(out.bottleneck_rank)],
                &room = plan.reserved.capacity[At(out.bottleneck_rank)];
  const auto share = [](int64_t a, int64_t b) {
    return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0;
  };
  out.bottleneck_memory_share = std::max(share(used.hbm, room.hbm), share(used.ddr, room.ddr));
}

std::string RunnerUpText(const TableExplanation& t, const PlanResult& plan) {
  if (t.num_options == 1) return "its only option";
  if (!t.runner_up)
    return Format("the only one of {} options that finds room{}", t.num_options,
                  t.rule.empty() ? "" : Format(" under the rule \"{}\"", t.rule));
  const RunnerUp& r = *t.runner_up;
  const std::string other = Format("{} {}", r.type, r.kernel);
  if (r.rating > plan.rating * (1 + 1e-9))
    return Format("next best is {}: the plan would take {:.4g} instead of {:.4g} (+{:.1f} %)",
                  other, r.rating, plan.rating, 100 * (r.rating / plan.rating - 1));
  return Format("{} would do as well for the plan, at {:.4g} instead of {:.4g} of work", other,
                r.total_perf, t.total_perf);
}

}  // namespace

PlanExplanation Explain(const EmbeddingShardingPlanner& planner, const PlanResult& plan) {
  const PlannerModel& model = planner.model();
  PlanExplanation out;
  if (plan.tables.empty()) return out;
  const SearchCost cost =
      planner.options().perf_model == PerfModel::kMaxRankHbm ? SearchCost::kHbm : SearchCost::kPerf;
  const std::vector<Bonds> bonds = BondsOf(model, planner.options().rules);
  const std::vector<Item> items = ListItems(plan, bonds, cost);
  PlacementState state(items, planner.topology(), plan.reserved.capacity);
  state.SetScale(std::max(plan.rating, 1e-12));
  for (size_t i = 0; i < items.size(); ++i)
    state.Place(static_cast<int>(i), 0, plan.tables[i].ranks);
  for (size_t i = 0; i < items.size(); ++i) {
    const int table = items[i].tables[0];
    const Bonds& own = bonds[At(table)];
    out.tables.push_back({model.full_name(model.tables[At(table)]),
                          static_cast<int64_t>(items[i].candidates.size()),
                          plan.tables[i].option.total_perf(),
                          RunnerUpOf(state, items[i], static_cast<int>(i), own.together),
                          own.together        ? "together"
                          : own.apart.empty() ? ""
                                              : "apart"});
  }
  SetBottleneck(model, plan, out);
  return out;
}

std::string ExplanationText(const PlanExplanation& e, const PlanResult& plan) {
  std::string text = Format(
      "rank {} is the busiest: {:.4g} ms, of which {:.4g} ms {}; its memory is {:.0f} % full\n",
      e.bottleneck_rank, e.bottleneck_perf, e.limited_by_perf, e.limited_by,
      100 * e.bottleneck_memory_share);
  for (size_t i = 0; i < std::min(kShownBottleneck, e.bottleneck_tables.size()); ++i)
    text += Format("  {} {:.4g} ms\n", e.bottleneck_tables[i].first, e.bottleneck_tables[i].second);
  for (size_t i = 0; i < std::min(kShownTables, e.tables.size()); ++i) {
    const ShardingOption& option = plan.tables[i].option;
    text += Format("{}: {} {}; {}\n", e.tables[i].table, option.type, option.kernel,
                   RunnerUpText(e.tables[i], plan));
  }
  if (e.tables.size() > kShownTables)
    text += Format("… and {} more tables\n", e.tables.size() - kShownTables);
  return text;
}

}  // namespace tessera
