#include <algorithm>

#include "planner/search/search_state.h"

namespace tessera::internal {
namespace {

constexpr double kGain = 1e-9;  // of the potential, for a step to count

// One step: an item moves to a spot, or changes places with a partner.
struct Step {
  double potential = 0;  // what it adds; below 0 to help
  int item = -1, candidate = -1, partner = -1;
  std::vector<int> ranks = {};
  double busiest = kNever;  // the largest load of the ranks it changes, after it

  bool helps() const { return potential < -kGain; }
};

class Descent {
 public:
  explicit Descent(SearchState& state) : state_(state) {}

  void Run() {
    while (!state_.exhausted()) {
      const double rating = state_.placement().Rating();
      if (rating <= state_.problem().lower_bound * (1 + kReached)) return;
      state_.SetScale(rating);
      const int bottleneck = state_.placement().Bottleneck();
      Step best = BestMove(bottleneck, /*by_busiest=*/false);
      if (!best.helps()) best = BestSwap(bottleneck);
      if (!best.helps()) best = BestMoveOfNode();
      if (!best.helps()) best = BestMove(bottleneck, /*by_busiest=*/true);
      if (!best.helps() && best.busiest >= rating * (1 - kGain)) return;
      Apply(best);
    }
  }

 private:
  // The best move, by potential or by the busiest rank that it touches: a table that goes to all
  // ranks may raise the potential, and still lower the busiest rank.
  Step BestMove(int rank, bool by_busiest) {
    std::vector<int> items = state_.placement().on_rank(rank);
    const std::vector<int>& on_all = state_.placement().on_all();
    items.insert(items.end(), on_all.begin(), on_all.end());
    Step best;
    for (const int item : items) {
      const PlacedItem was = state_.Take(item);
      const double relief = state_.Relief(item, was);
      Step own = BestSpotOf(item, relief, by_busiest);
      own.busiest = std::max(own.busiest, state_.placement().load()[static_cast<size_t>(rank)]);
      if (Better(own, best, by_busiest)) best = std::move(own);
      state_.Put(item, was.candidate, was.ranks);
    }
    return best;
  }

  // Where a node rates, an item of any of its ranks may help.
  Step BestMoveOfNode() {
    Step best;
    for (const int rank : state_.placement().BottleneckNode()) {
      Step own = BestMove(rank, /*by_busiest=*/false);
      if (Better(own, best, /*by_busiest=*/false)) best = std::move(own);
    }
    return best;
  }

  // The best spot of an item that has been taken out.
  Step BestSpotOf(int item, double relief, bool by_busiest) {
    Step best;
    for (int c = 0; c < static_cast<int>(state_.item(item).candidates.size()); ++c) {
      Spot spot = state_.BestSpot(item, c);
      if (!spot.found() || !state_.MayMove(state_.Moved(item, c, spot.ranks))) continue;
      Step step{relief + spot.potential, item, c, -1, std::move(spot.ranks), spot.busiest};
      if (Better(step, best, by_busiest)) best = std::move(step);
    }
    return best;
  }

  static bool Better(const Step& a, const Step& b, bool by_busiest) {
    return by_busiest ? a.busiest < b.busiest : a.potential < b.potential;
  }

  bool IsSingle(int item) const {
    const Candidate& c = state_.placement().CandidateOf(item);
    return c.partition_by() == PartitionBy::kDevice && c.shards == 1 &&
           state_.item(item).apart.empty();
  }

  Step BestSwap(int rank) {
    Step best;
    for (const int item : state_.placement().on_rank(rank)) {
      if (!IsSingle(item)) continue;
      state_.Spend(static_cast<int64_t>(state_.items().size()));
      for (int partner = 0; partner < static_cast<int>(state_.items().size()); ++partner)
        if (IsSingle(partner)) TrySwap(item, rank, partner, best);
    }
    return best;
  }

  void TrySwap(int item, int rank, int partner, Step& best) {
    const PlacementState& placement = state_.placement();
    const Candidate &own = placement.CandidateOf(item), &its = placement.CandidateOf(partner);
    const int there = state_.placed(partner).ranks[0];
    const double gain = own.total - its.total;
    const double from = placement.load()[static_cast<size_t>(rank)],
                 to = placement.load()[static_cast<size_t>(there)];
    if (gain <= 0 || there == rank || to + gain >= from) return;
    const double potential = SwapPotential(from, to, gain);
    if (potential >= best.potential || !Fits(own, its, there) || !Fits(its, own, rank) ||
        !MaySwap(item, partner))
      return;
    best = {.potential = potential, .item = item, .partner = partner};
  }

  // Whether `in` may take the place of `out`.
  bool Fits(const Candidate& in, const Candidate& out, int rank) const {
    Storage free = state_.placement().free()[static_cast<size_t>(rank)];
    free += out.sum;
    return in.sum.FitsIn(free);
  }

  static double SwapPotential(double from, double to, double gain) {
    const auto pow8 = [&](double load) {
      const double x = load / from, square = x * x, fourth = square * square;
      return fourth * fourth;
    };
    return pow8(from - gain) + pow8(to + gain) - pow8(from) - pow8(to);
  }

  bool MaySwap(int a, int b) const {
    const PlacedItem &pa = state_.placed(a), &pb = state_.placed(b);
    return state_.MayMove(
        state_.Moved(a, pa.candidate, pb.ranks) + state_.Moved(b, pb.candidate, pa.ranks) -
        state_.Moved(a, pa.candidate, pa.ranks) - state_.Moved(b, pb.candidate, pb.ranks));
  }

  void Apply(const Step& step) {
    const PlacedItem was = state_.Take(step.item);
    if (step.partner < 0) return state_.Put(step.item, step.candidate, step.ranks);
    const PlacedItem partner = state_.Take(step.partner);
    state_.Put(step.item, was.candidate, partner.ranks);
    state_.Put(step.partner, partner.candidate, was.ranks);
  }

  SearchState& state_;
};

}  // namespace

void Descend(SearchState& state) { Descent(state).Run(); }

}  // namespace tessera::internal
