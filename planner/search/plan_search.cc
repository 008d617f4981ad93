#include "planner/search/plan_search.h"

#include <algorithm>
#include <numeric>

#include "planner/model/at.h"
#include "planner/search/option_choice.h"
#include "planner/search/search_state.h"

namespace tessera::internal {
namespace {

// Budgets of work for one start, counted in ranks looked at (some nanoseconds each). The work grows
// with items × ranks: fast while they are few, then slowly.
constexpr double kDescentWork = 2e8;
constexpr double kLeastRuinWork = 2e6, kSmallRuinWork = 6e7, kMaxRuinWork = 6e8;
constexpr double kSmallRuinWorkAPlace = 2e5, kRuinWorkAPlace = 40;

double RuinWork(const SearchProblem& problem) {
  const auto places = static_cast<double>(problem.items.size() * problem.capacity.size());
  const double small = std::clamp(kSmallRuinWorkAPlace * places, kLeastRuinWork, kSmallRuinWork);
  return std::clamp(kRuinWorkAPlace * places, small, kMaxRuinWork);
}

// How items are ordered before they are placed. kApart: first those under rules, the most rules
// first, by memory.
enum class Order { kCost, kCostAndMemory, kMemory, kApart };

// The share of one rank's time or memory that a candidate takes, whichever is larger, as `order`
// says.
double Weight(const Candidate& c, Order order, double cost_unit, const Storage& room) {
  const auto share = [](int64_t bytes, int64_t of) {
    return of > 0 ? static_cast<double>(bytes) / static_cast<double>(of) : 0.0;
  };
  const double cost = c.largest / cost_unit;
  const double memory = std::max(share(c.most.hbm, room.hbm), share(c.most.ddr, room.ddr));
  return order == Order::kCost            ? cost
         : order == Order::kCostAndMemory ? std::max(cost, memory)
                                          : memory;
}

// The place of a candidate's class: uniform ones come first, then those that need a group, then
// others.
int Class(const Candidate& c) {
  switch (c.partition_by()) {
    case PartitionBy::kUniform:
      return 0;
    case PartitionBy::kMultiHost:
      return 1;
    case PartitionBy::kHost:
      return 2;
    case PartitionBy::kDevice:
      return 3;
  }
  return 3;
}

std::vector<int> PlacingOrder(const std::vector<Item>& items, const std::vector<int>& chosen,
                              Order order, double cost_unit, const Storage& room) {
  std::vector<std::pair<int, double>> key;
  for (size_t i = 0; i < items.size(); ++i) {
    const Candidate& c = items[i].candidates[At(chosen[i])];
    const int rules = order == Order::kApart ? static_cast<int>(items[i].apart.size()) : 0;
    key.emplace_back(rules > 0 ? -rules : Class(c), -Weight(c, order, cost_unit, room));
  }
  std::vector<int> by_key(items.size());
  std::iota(by_key.begin(), by_key.end(), 0);
  std::stable_sort(by_key.begin(), by_key.end(),
                   [&](int a, int b) { return key[At(a)] < key[At(b)]; });
  return by_key;
}

// Places the chosen candidate, or (without one, or without room) the one of least potential that
// has a place.
bool PlaceItem(PlacementState& state, const Item& item, int index, int chosen) {
  Spot best = chosen < 0 ? Spot{} : state.BestSpot(index, chosen);
  int candidate = chosen;
  if (!best.found()) {
    for (int c = 0; c < static_cast<int>(item.candidates.size()); ++c) {
      if (c == chosen) continue;
      Spot spot = state.BestSpot(index, c);
      if (spot.potential >= best.potential) continue;
      best = std::move(spot);
      candidate = c;
    }
  }
  if (best.found()) state.Place(index, candidate, best.ranks);
  return best.found();
}

Solution PlaceAll(const SearchProblem& problem, const std::vector<int>& chosen, Order order,
                  double cost_unit) {
  PlacementState state(problem.items, problem.topology, problem.capacity);
  state.SetScale(cost_unit);
  for (const int i :
       PlacingOrder(problem.items, chosen, order, cost_unit, LargestOf(problem.capacity)))
    if (!PlaceItem(state, problem.items[At(i)], i, chosen[At(i)])) return {};
  return {state.placed(), Rate(problem, state.placed())};
}

// The cost on each rank of the items that lie on all ranks.
double BaseOf(const std::vector<Item>& items, const std::vector<int>& chosen) {
  double base = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const Candidate& c = items[i].candidates[At(chosen[i])];
    if (c.partition_by() == PartitionBy::kUniform) base += c.largest;
  }
  return base;
}

// The candidate of fewest shards that fits on some rank; of equals, the cheapest.
int NarrowestOf(const Item& item, const Storage& room) {
  int narrowest = -1;
  for (int i = 0; i < static_cast<int>(item.candidates.size()); ++i) {
    const Candidate& c = item.candidates[At(i)];
    if (c.most.FitsIn(room) && (narrowest < 0 || c.shards < item.candidates[At(narrowest)].shards))
      narrowest = i;
  }
  return std::max(narrowest, 0);
}

bool AnyApart(const std::vector<Item>& items) {
  return std::any_of(items.begin(), items.end(), [](const Item& i) { return !i.apart.empty(); });
}

// Collects starts: placements of different choices.
class Starter {
 public:
  explicit Starter(const SearchProblem& problem)
      : problem_(problem), unit_(std::max(problem.lower_bound, 1e-12)) {}

  // Adds a choice with shards up to `factor` times the bound. Items on all ranks leave less to the
  // others, so that some of these have to be cut too: repeats until none has to.
  void Add(double factor, double share) {
    constexpr int kRounds = 4;
    double base = 0;
    for (int round = 0; round < kRounds; ++round) {
      const double threshold = factor == kNever ? kNever : unit_ * factor;
      const std::vector<int> chosen =
          ChooseCandidates(problem_.items, problem_.capacity, threshold, base, share);
      if (std::find(tried_.begin(), tried_.end(), chosen) != tried_.end()) return;
      tried_.push_back(chosen);
      Place(chosen);
      base = BaseOf(problem_.items, chosen);
    }
  }

  // Adds a choice in which tables that lie apart leave as many ranks to each other as they can.
  void AddNarrow() {
    std::vector<int> chosen =
        ChooseCandidates(problem_.items, problem_.capacity, kNever, /*base=*/0, /*share=*/1);
    const Storage room = LargestOf(problem_.capacity);
    for (size_t i = 0; i < chosen.size(); ++i)
      if (!problem_.items[i].apart.empty()) chosen[i] = NarrowestOf(problem_.items[i], room);
    Place(chosen);
  }

  std::vector<Solution>& starts() { return starts_; }

 private:
  void Place(const std::vector<int>& chosen) {
    for (const Order order : {Order::kCost, Order::kCostAndMemory, Order::kMemory, Order::kApart}) {
      if (order == Order::kApart && !apart_) continue;
      Solution start = PlaceAll(problem_, chosen, order, unit_);
      if (!start.found()) continue;
      starts_.push_back(std::move(start));
      return;
    }
  }

  const SearchProblem& problem_;
  double unit_;
  bool apart_ = AnyApart(problem_.items);
  std::vector<Solution> starts_;
  std::vector<std::vector<int>> tried_;
};

}  // namespace

double Rate(const SearchProblem& problem, const std::vector<PlacedItem>& placed) {
  PlacementState state(problem.items, problem.topology, problem.capacity);
  for (size_t i = 0; i < placed.size(); ++i)
    state.Place(static_cast<int>(i), placed[i].candidate, placed[i].ranks);
  return state.Rating();
}

Solution Complete(const SearchProblem& problem, const std::vector<PlacedItem>& known) {
  PlacementState state(problem.items, problem.topology, problem.capacity);
  state.SetScale(std::max(problem.lower_bound, 1e-12));
  std::vector<int> homeless;
  for (int i = 0; i < static_cast<int>(known.size()); ++i) {
    const PlacedItem& was = known[At(i)];
    if (was.candidate >= 0 && state.SpotOn(i, was.candidate, was.ranks).found())
      state.Place(i, was.candidate, was.ranks);
    else
      homeless.push_back(i);
  }
  std::stable_sort(homeless.begin(), homeless.end(), [&](int a, int b) {
    return problem.items[At(a)].candidates[0].total > problem.items[At(b)].candidates[0].total;
  });
  for (const int i : homeless)
    if (!PlaceItem(state, problem.items[At(i)], i, /*chosen=*/-1)) return {};
  int64_t moved = 0;
  for (size_t i = 0; i < known.size() && problem.moved_bytes; ++i) {
    const int item = static_cast<int>(i);
    moved += problem.moved_bytes(item, state.CandidateOf(item), state.placed()[i].ranks);
  }
  if (problem.moved_bytes && moved > problem.most_moved_bytes) return {};
  return {state.placed(), Rate(problem, state.placed())};
}

Solution Improve(const SearchProblem& problem, const Solution& start) {
  const auto work = [&](double full) { return static_cast<int64_t>(full * problem.effort); };
  SearchState state(problem, start.placed);
  state.SetWork(work(kDescentWork));
  Descend(state);
  state.SetWork(work(RuinWork(problem)));
  RuinAndRecreate(state);
  state.SetWork(work(kDescentWork));
  Descend(state);
  const std::vector<PlacedItem>& placed = state.placement().placed();
  const double rating = Rate(problem, placed);
  return rating < start.rating ? Solution{placed, rating} : start;
}

Solution SearchPlan(const SearchProblem& problem) {
  static constexpr double kThresholds[] = {1, 1.02, 1.05, 1.1, 1.2, 1.5, 2, kNever};
  static constexpr double kShares[] = {1, 0.97, 0.9, 0.75};
  Starter starter(problem);
  for (const double share : kShares) {
    for (const double factor : kThresholds) starter.Add(factor, share);
    if (!starter.starts().empty()) break;
  }
  if (starter.starts().empty()) starter.AddNarrow();
  std::vector<Solution> starts = std::move(starter.starts());
  std::stable_sort(starts.begin(), starts.end(),
                   [](const Solution& a, const Solution& b) { return a.rating < b.rating; });
  constexpr size_t kImproved = 4;
  Solution best;
  for (size_t i = 0; i < std::min(kImproved, starts.size()); ++i) {
    Solution improved = Improve(problem, starts[i]);
    if (improved.rating < best.rating) best = std::move(improved);
  }
  return best;
}

}  // namespace tessera::internal
