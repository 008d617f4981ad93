#ifndef TESSERA_PLANNER_SEARCH_SEARCH_STATE_H_
#define TESSERA_PLANNER_SEARCH_SEARCH_STATE_H_
// A placement that a search changes, the bytes that it moves, and the work that is left.
#include <algorithm>
#include <vector>

#include "planner/search/plan_search.h"

namespace tessera::internal {

// A rating above the lower bound by no more than this share has reached it.
inline constexpr double kReached = 1e-9;

class SearchState {
 public:
  SearchState(const SearchProblem& problem, const std::vector<PlacedItem>& start)
      : problem_(problem), placement_(problem.items, problem.topology, problem.capacity) {
    for (size_t i = 0; i < start.size(); ++i)
      Put(static_cast<int>(i), start[i].candidate, start[i].ranks);
  }

  const SearchProblem& problem() const { return problem_; }
  const PlacementState& placement() const { return placement_; }
  const std::vector<Item>& items() const { return problem_.items; }
  const Item& item(int i) const { return problem_.items[static_cast<size_t>(i)]; }
  const PlacedItem& placed(int i) const { return placement_.placed()[static_cast<size_t>(i)]; }

  // Work is ranks looked at.
  bool exhausted() const { return work_left_ <= 0; }
  void SetWork(int64_t work) { work_left_ = work; }
  void Spend(int64_t work) { work_left_ -= work; }

  void SetScale(double scale) { placement_.SetScale(scale); }
  Spot BestSpot(int item_index, int candidate) {
    const Candidate& c = item(item_index).candidates[static_cast<size_t>(candidate)];
    Spend(kSpotWork + static_cast<int64_t>(placement_.load().size()) *
                          std::max<int64_t>(1, c.shards / problem_.topology.group_size()));
    return placement_.BestSpot(item_index, candidate);
  }

  void Put(int item_index, int candidate, const std::vector<int>& ranks) {
    moved_ += Moved(item_index, candidate, ranks);
    placement_.Place(item_index, candidate, ranks);
  }
  PlacedItem Take(int item_index) {
    PlacedItem was = placed(item_index);
    moved_ -= Moved(item_index, was.candidate, was.ranks);
    placement_.Remove(item_index);
    return was;
  }
  // Returns the change of the potential from taking an item out, which is negative.
  double Relief(int item_index, const PlacedItem& was) {
    Spend(static_cast<int64_t>(was.ranks.size()));
    return -placement_.SpotOn(item_index, was.candidate, was.ranks).potential;
  }

  // Whether `more` bytes may move, beside those that do.
  bool MayMove(int64_t more) const {
    return !problem_.moved_bytes || moved_ + more <= problem_.most_moved_bytes;
  }
  int64_t Moved(int item_index, int candidate, const std::vector<int>& ranks) const {
    if (!problem_.moved_bytes) return 0;
    return problem_.moved_bytes(item_index,
                                item(item_index).candidates[static_cast<size_t>(candidate)], ranks);
  }

 private:
  static constexpr int64_t kSpotWork = 100;  // of a spot, beside the ranks

  const SearchProblem& problem_;
  PlacementState placement_;
  int64_t work_left_ = 0, moved_ = 0;
};

// Steps that help the busiest rank, one at a time, until there is none.
void Descend(SearchState& state);

// Takes a few items out, the busiest rank's among them, and puts each back where it costs least;
// keeps what helps. Until the work is done.
void RuinAndRecreate(SearchState& state);

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_SEARCH_SEARCH_STATE_H_
