#include <algorithm>
#include <random>

#include "planner/search/search_state.h"

namespace tessera::internal {
namespace {

constexpr double kRoundGain = 1e-10;
constexpr uint32_t kSeed = 20261121;
constexpr int kOfBottleneck = 4, kOfOthers = 3;  // items taken out, at most

class Ruiner {
 public:
  explicit Ruiner(SearchState& state) : state_(state) {}

  void Run() {
    double rating = state_.placement().Rating();
    state_.SetScale(rating);
    while (!state_.exhausted() && rating > state_.problem().lower_bound * (1 + kReached)) {
      state_.Spend(1);
      by_busiest_ = Random(2) == 0;
      if (!Try(rating)) continue;
      rating = state_.placement().Rating();
      state_.SetScale(rating);
    }
  }

 private:
  size_t Random(size_t below) { return generator_() % below; }

  void Choose(int item) {
    if (std::find(chosen_.begin(), chosen_.end(), item) == chosen_.end()) chosen_.push_back(item);
  }
  void ChooseFrom(const std::vector<int>& items, int most) {
    for (int i = 0; i < most && !items.empty(); ++i) Choose(items[Random(items.size())]);
  }

  void ChooseItems() {
    chosen_.clear();
    const PlacementState& placement = state_.placement();
    const size_t ranks = placement.load().size();
    ChooseFrom(placement.on_rank(placement.Bottleneck()),
               1 + static_cast<int>(Random(kOfBottleneck)));
    if (const std::vector<int> node = placement.BottleneckNode(); !node.empty())
      ChooseFrom(placement.on_rank(node[Random(node.size())]),
                 1 + static_cast<int>(Random(kOfBottleneck)));
    for (size_t i = Random(3); i > 0; --i)
      ChooseFrom(placement.on_rank(static_cast<int>(Random(ranks))),
                 1 + static_cast<int>(Random(kOfOthers)));
    if (Random(2) == 0) ChooseFrom(placement.on_all(), 1);
    if (Random(2) == 0 || chosen_.empty()) Choose(static_cast<int>(Random(state_.items().size())));
  }

  // Orders the items, mostly with large ones first.
  void OrderItems() {
    for (size_t i = chosen_.size(); i > 1; --i) std::swap(chosen_[i - 1], chosen_[Random(i)]);
    if (Random(4) == 0) return;
    std::stable_sort(chosen_.begin(), chosen_.end(), [&](int a, int b) {
      return state_.item(a).candidates[0].total > state_.item(b).candidates[0].total;
    });
  }

  // Tries a new placement of a few items; true if it is better, and then it is kept.
  bool Try(double rating) {
    ChooseItems();
    OrderItems();
    double potential = 0;
    std::vector<PlacedItem> before;
    for (const int item : chosen_) {
      before.push_back(state_.Take(item));
      potential += state_.Relief(item, before.back());
    }
    size_t back = 0;
    for (; back < chosen_.size() && potential < kNever; ++back)
      if (!PutBack(chosen_[back], potential)) break;
    if (back == chosen_.size() && state_.MayMove(0) &&
        (potential < -kRoundGain || state_.placement().Rating() < rating * (1 - kRoundGain)))
      return true;
    while (back > 0) state_.Take(chosen_[--back]);
    for (size_t i = chosen_.size(); i-- > 0;)
      state_.Put(chosen_[i], before[i].candidate, before[i].ranks);
    return false;
  }

  // Puts an item back at its cheapest spot, or now and then at its second cheapest candidate's.
  bool PutBack(int item, double& potential) {
    Spot best, second;
    int candidate = -1, second_candidate = -1;
    for (int c = 0; c < static_cast<int>(state_.item(item).candidates.size()); ++c) {
      Spot spot = state_.BestSpot(item, c);
      if (Better(spot, best)) {
        second = std::move(best);
        second_candidate = candidate;
        best = std::move(spot);
        candidate = c;
      } else if (Better(spot, second)) {
        second = std::move(spot);
        second_candidate = c;
      }
    }
    if (second.found() && Random(8) == 0) {
      best = std::move(second);
      candidate = second_candidate;
    }
    if (!best.found()) return false;
    potential += best.potential;
    state_.Put(item, candidate, best.ranks);
    return true;
  }

  bool Better(const Spot& a, const Spot& b) const {
    if (!a.found() || !b.found()) return a.found();
    return by_busiest_ ? a.busiest < b.busiest : a.potential < b.potential;
  }

  SearchState& state_;
  bool by_busiest_ = false;
  std::mt19937 generator_{kSeed};
  std::vector<int> chosen_;
};

}  // namespace

void RuinAndRecreate(SearchState& state) { Ruiner(state).Run(); }

}  // namespace tessera::internal
