#include "planner/search/search_items.h"

#include <algorithm>
#include <map>
#include <set>

#include "planner/model/planner_error.h"

namespace tessera::internal {
namespace {

using Options = std::vector<const ShardingOption*>;

double CostOf(const ShardRun& run, SearchCost cost) {
  return cost == SearchCost::kPerf ? run.perf.total() : static_cast<double>(run.storage.hbm);
}

std::vector<PieceRun> PiecesOf(const ShardingOption& option, SearchCost cost) {
  std::vector<PieceRun> pieces;
  for (const ShardRun& run : option.shards)
    if (run.count > 0) pieces.push_back({run.count, CostOf(run, cost), run.storage});
  return pieces;
}

// Merges the i-th shards of both into one.
std::vector<PieceRun> Merged(const std::vector<PieceRun>& a, const std::vector<PieceRun>& b) {
  std::vector<PieceRun> merged;
  int64_t left_a = a[0].count, left_b = b[0].count;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const int64_t count = std::min(left_a, left_b);
    merged.push_back({count, a[i].cost + b[j].cost, a[i].storage});
    merged.back().storage += b[j].storage;
    if ((left_a -= count) == 0 && ++i < a.size()) left_a = a[i].count;
    if ((left_b -= count) == 0 && ++j < b.size()) left_b = b[j].count;
  }
  return merged;
}

void Summarize(Candidate& c) {
  c.shards = 0;
  c.total = c.largest = 0;
  c.sum = c.most = {};
  for (const PieceRun& piece : c.pieces) {
    c.shards += piece.count;
    c.total += piece.cost * static_cast<double>(piece.count);
    c.largest = std::max(c.largest, piece.cost);
    c.sum += piece.storage * piece.count;
    c.most = Largest(c.most, piece.storage);
  }
}

std::vector<Candidate> CandidatesOf(const Options& options, SearchCost cost) {
  std::vector<Candidate> candidates;
  for (const ShardingOption* option : options)
    if (IsSound(*option) && option->num_shards() > 0)
      candidates.push_back(MakeCandidate(*option, cost));
  return candidates;
}

// All pairs of candidates with the same type and number of shards.
std::vector<Candidate> Together(const std::vector<Candidate>& a, const std::vector<Candidate>& b) {
  std::vector<Candidate> pairs;
  for (const Candidate& x : a) {
    for (const Candidate& y : b) {
      if (x.type != y.type || x.shards != y.shards) continue;
      Candidate pair = x;
      pair.members.insert(pair.members.end(), y.members.begin(), y.members.end());
      pair.pieces = Merged(x.pieces, y.pieces);
      Summarize(pair);
      pairs.push_back(std::move(pair));
    }
  }
  return pairs;
}

// Whether a can lie wherever b can.
bool IsAsFree(const Candidate& a, const Candidate& b) {
  if (a.distinct_ranks() && !b.distinct_ranks()) return false;
  if (a.shards != b.shards || a.pieces.size() != b.pieces.size()) return false;
  if (a.type == b.type) return true;
  return a.partition_by() == PartitionBy::kDevice &&
         (b.partition_by() == PartitionBy::kDevice || b.type == ShardingType::kTableColumnWise);
}

bool Beats(const Candidate& a, const Candidate& b) {
  if (!IsAsFree(a, b)) return false;
  for (size_t i = 0; i < a.pieces.size(); ++i)
    if (a.pieces[i].count != b.pieces[i].count || a.pieces[i].cost > b.pieces[i].cost ||
        !a.pieces[i].storage.FitsIn(b.pieces[i].storage))
      return false;
  return true;
}

// Removes candidates that an earlier one beats; the rest is sorted by total.
void Prune(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.total < b.total; });
  std::vector<Candidate> kept;
  for (Candidate& c : candidates)
    if (std::none_of(kept.begin(), kept.end(), [&](const Candidate& k) { return Beats(k, c); }))
      kept.push_back(std::move(c));
  candidates = std::move(kept);
}

bool HasNoLines(const ShardingOption& option) {
  return std::any_of(option.shards.begin(), option.shards.end(),
                     [](const ShardRun& run) { return run.cache_lines == 0; });
}

// A table that has no sound option, nearly always for its cache.
[[noreturn]] void FailCache(const std::string& table, const Options& options) {
  std::string got;
  for (const ShardingOption* option : options)
    if (got.empty() && !IsSound(*option))
      got = Format(", got {} under {}{}", *option->cache_load_factor, option->kernel,
                   HasNoLines(*option) ? ": cache_params.bytes hold no set of lines" : "");
  throw PlannerError(PlannerErrorKind::kInvalidComputeKernel,
                     Format("table {}: expected a cache load factor above 0 and below 1 (or a "
                            "kernel without a cache){}",
                            table, got));
}

[[noreturn]] void FailRules(const std::string& what) {
  throw PlannerError(PlannerErrorKind::kPlacementRules, "placement rules: " + what);
}

// The tables that stay with each table, itself included, as numbers of items.
std::vector<int> ItemsOfTables(const PlannerModel& model, const PlacementRules& rules,
                               const std::map<int, Options>& options) {
  std::vector<int> item(model.tables.size());
  for (size_t t = 0; t < item.size(); ++t) item[t] = static_cast<int>(t);
  std::set<int> seen;
  for (const std::vector<std::string>& names : rules.together) {
    int first = -1;
    for (const std::string& name : names) {
      const int table = TableOf(model, name);
      if (!options.contains(table)) FailRules(Format("together: table {} is not planned", name));
      if (!seen.insert(table).second) FailRules(Format("together: table {} is named twice", name));
      if (first < 0) first = table;
      item[static_cast<size_t>(table)] = first;
    }
  }
  return item;
}

void SetApart(const PlannerModel& model, const PlacementRules& rules,
              const std::map<int, size_t>& item_of_table, std::vector<Item>& items) {
  for (size_t rule = 0; rule < rules.apart.size(); ++rule) {
    std::set<size_t> members;
    for (const std::string& name : rules.apart[rule]) {
      const auto found = item_of_table.find(TableOf(model, name));
      if (found == item_of_table.end()) FailRules(Format("apart: table {} is not planned", name));
      if (!members.insert(found->second).second)
        FailRules(
            Format("apart: table {} is named twice, or is to stay together with another one "
                   "of the list",
                   name));
    }
    if (members.size() < 2) continue;
    for (const size_t m : members) {
      items[m].apart.push_back(static_cast<int>(rule));
      std::erase_if(items[m].candidates,
                    [](const Candidate& c) { return c.partition_by() == PartitionBy::kUniform; });
      if (items[m].candidates.empty())
        FailRules(Format("apart: table {} can only lie on all ranks",
                         model.full_name(model.tables[static_cast<size_t>(items[m].tables[0])])));
    }
  }
}

}  // namespace

bool Candidate::distinct_ranks() const {
  return type == ShardingType::kColumnWise &&
         std::any_of(members.begin(), members.end(),
                     [](const ShardingOption* o) { return o->kernel == PlanKernel::kKeyValue; });
}

bool IsSound(const ShardingOption& o) {
  const bool cached =
      o.kernel == PlanKernel::kFusedUvmCaching || o.kernel == PlanKernel::kQuantUvmCaching;
  return !cached || !o.cache_load_factor || (*o.cache_load_factor > 0 && *o.cache_load_factor < 1);
}

Candidate MakeCandidate(const ShardingOption& option, SearchCost cost) {
  Candidate c{.members = {&option}, .type = option.type, .pieces = PiecesOf(option, cost)};
  Summarize(c);
  return c;
}

int CandidateFor(const Item& item, const ShardingOption& option, SearchCost cost) {
  const auto number = [&](const auto& matches) {
    const auto found = std::find_if(item.candidates.begin(), item.candidates.end(), matches);
    return found == item.candidates.end() ? -1 : static_cast<int>(found - item.candidates.begin());
  };
  const int same = number([&](const Candidate& c) {
    return c.type == option.type && c.members[0]->kernel == option.kernel &&
           c.members[0]->cache_load_factor == option.cache_load_factor;
  });
  if (same >= 0) return same;
  const Candidate own = MakeCandidate(option, cost);
  return number([&](const Candidate& c) { return Beats(c, own); });
}

int TableOf(const PlannerModel& model, const std::string& name) {
  int found = -1;
  for (size_t t = 0; t < model.tables.size(); ++t) {
    if (model.full_name(model.tables[t]) == name) return static_cast<int>(t);
    if (model.tables[t].name != name) continue;
    if (found >= 0) FailRules(Format("two tables are called {}: give the full name", name));
    found = static_cast<int>(t);
  }
  if (found < 0) FailRules(Format("there is no table {}", name));
  return found;
}

std::vector<Item> MakeItems(const PlannerModel& model, const std::vector<ShardingOption>& options,
                            const PlacementRules& rules, SearchCost cost) {
  std::vector<int> order;  // of first appearance
  std::map<int, Options> by_table;
  for (const ShardingOption& option : options) {
    Options& list = by_table[option.table];
    if (list.empty()) order.push_back(option.table);
    list.push_back(&option);
  }
  const std::vector<int> number = ItemsOfTables(model, rules, by_table);
  std::map<int, size_t> place;  // of an item, by its number
  std::map<int, size_t> item_of_table;
  std::vector<Item> items;
  for (const int table : order) {
    const auto [at, added] = place.try_emplace(number[static_cast<size_t>(table)], items.size());
    if (added) items.emplace_back();
    Item& item = items[at->second];
    std::vector<Candidate> own = CandidatesOf(by_table[table], cost);
    if (own.empty())
      FailCache(model.full_name(model.tables[static_cast<size_t>(table)]), by_table[table]);
    item.candidates = added ? std::move(own) : Together(item.candidates, own);
    Prune(item.candidates);
    item.tables.push_back(table);
    item_of_table[table] = at->second;
    if (item.candidates.empty())
      FailRules(
          Format("together: table {} has no sharding type and number of shards in common "
                 "with the others of its list",
                 model.full_name(model.tables[static_cast<size_t>(table)])));
  }
  SetApart(model, rules, item_of_table, items);
  return items;
}

}  // namespace tessera::internal
