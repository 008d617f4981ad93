#include "planner/search/exact_search.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "planner/model/at.h"

namespace tessera::internal {
namespace {

constexpr size_t kMaxItems = 16;
constexpr int kMaxRanks = 64;
constexpr double kMaxNodes = 1e6;    // shards put on a rank
constexpr double kBelow = 1 - 1e-9;  // how far below the best a plan must be to count

bool IsSmall(const SearchProblem& problem) {
  if (problem.items.size() > kMaxItems || problem.topology.world_size > kMaxRanks) return false;
  if (problem.moved_bytes) return false;
  return std::all_of(problem.items.begin(), problem.items.end(), [](const Item& item) {
    return item.apart.empty() &&
           std::none_of(item.candidates.begin(), item.candidates.end(), [](const Candidate& c) {
             return c.partition_by() == PartitionBy::kMultiHost || c.distinct_ranks();
           });
  });
}

// Merges neighbouring shards of one cost into one run with the least of their storage.
void Relax(Candidate& candidate) {
  std::vector<PieceRun> pieces;
  for (const PieceRun& piece : candidate.pieces) {
    if (pieces.empty() || pieces.back().cost != piece.cost) {
      pieces.push_back(piece);
      continue;
    }
    Storage& least = pieces.back().storage;
    pieces.back().count += piece.count;
    least = {std::min(least.hbm, piece.storage.hbm), std::min(least.ddr, piece.storage.ddr),
             std::min(least.ssd, piece.storage.ssd)};
  }
  candidate.pieces = std::move(pieces);
}

std::vector<Item> Relaxed(std::vector<Item> items) {
  for (Item& item : items)
    for (Candidate& candidate : item.candidates) Relax(candidate);
  return items;
}

class BranchAndBound {
 public:
  BranchAndBound(const SearchProblem& problem, double servers, double best_rating)
      : problem_(problem),
        items_(Relaxed(problem.items)),
        servers_(servers),
        best_(best_rating),
        most_nodes_(static_cast<int64_t>(kMaxNodes * problem.effort)),
        ranks_(problem.topology.world_size),
        group_(problem.topology.group_size()),
        local_(problem.topology.local_world_size),
        cores_(problem.topology.cores_per_node),
        load_(At(ranks_)),
        node_load_(At(ranks_ / local_)),
        free_(problem.capacity),
        placed_(items_.size()) {
    order_.resize(items_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) {
      return items_[At(a)].candidates[0].total > items_[At(b)].candidates[0].total;
    });
    rest_.resize(items_.size() + 1);
    for (size_t i = items_.size(); i-- > 0;) rest_[i] = rest_[i + 1] + Least(items_[At(order_[i])]);
  }

  ExactResult Run() {
    Branch(0);
    return {nodes_ <= most_nodes_ && !slipped_, std::move(found_)};
  }

 private:
  double Least(const Item& item) const {
    double least = kNever;
    for (const Candidate& c : item.candidates)
      if (c.largest < best_) least = std::min(least, c.total);
    return least;
  }

  bool TooDear(size_t depth) const {
    if (busiest_ >= best_ * kBelow) return true;
    return (sum_ + rest_[depth]) / servers_ >= best_ * kBelow;
  }

  void Branch(size_t depth) {
    if (nodes_ > most_nodes_ || TooDear(depth)) return;
    if (depth == items_.size()) return Leaf();
    const int item = order_[depth];
    for (int c = 0; c < static_cast<int>(items_[At(item)].candidates.size()); ++c) {
      const Candidate& candidate = items_[At(item)].candidates[At(c)];
      if (candidate.largest >= best_ * kBelow) continue;
      placed_[At(item)].candidate = c;
      placed_[At(item)].ranks.clear();
      TryCandidate(depth, candidate, placed_[At(item)].ranks);
    }
  }

  void TryCandidate(size_t depth, const Candidate& candidate, std::vector<int>& ranks) {
    switch (candidate.partition_by()) {
      case PartitionBy::kUniform:
        return InOrder(depth, candidate, 0, ranks);
      case PartitionBy::kHost:
        for (int group = 0; group < ranks_ / group_; ++group) {
          if (IsLikeEarlierGroup(group)) continue;
          if (candidate.type == ShardingType::kTableRowWise)
            InOrder(depth, candidate, group * group_, ranks);
          else
            OneByOne(depth, candidate, 0, group * group_, (group + 1) * group_, ranks);
        }
        return;
      default:
        return OneByOne(depth, candidate, 0, 0, ranks_, ranks);
    }
  }

  static const PieceRun& Piece(const Candidate& candidate, int64_t shard) {
    size_t run = 0;
    while (shard >= candidate.pieces[run].count) shard -= candidate.pieces[run++].count;
    return candidate.pieces[run];
  }

  // Puts shard i on rank first + i.
  void InOrder(size_t depth, const Candidate& candidate, int first, std::vector<int>& ranks) {
    const double busiest = busiest_;
    for (int64_t i = 0; i < candidate.shards; ++i) {
      const int rank = first + static_cast<int>(i);
      if (rank >= ranks_ || !Put(Piece(candidate, i), rank)) break;
      ranks.push_back(rank);
    }
    if (static_cast<int64_t>(ranks.size()) == candidate.shards) Branch(depth + 1);
    while (!ranks.empty()) {
      Take(Piece(candidate, static_cast<int64_t>(ranks.size()) - 1), ranks.back());
      ranks.pop_back();
    }
    busiest_ = busiest;
  }

  // Puts each shard on any rank of [begin, end); alike shards go to ascending ranks.
  void OneByOne(size_t depth, const Candidate& candidate, int64_t shard, int begin, int end,
                std::vector<int>& ranks) {
    if (shard == candidate.shards) return Branch(depth + 1);
    const PieceRun& piece = Piece(candidate, shard);
    const bool alike = shard > 0 && &Piece(candidate, shard - 1) == &piece;
    const int first = alike ? ranks.back() : begin;
    for (int rank = first; rank < end && nodes_ <= most_nodes_; ++rank) {
      if (IsLikeEarlierRank(rank, first)) continue;
      const double busiest = busiest_;
      if (!Put(piece, rank)) continue;
      if (busiest_ < best_ * kBelow) {
        ranks.push_back(rank);
        OneByOne(depth, candidate, shard + 1, begin, end, ranks);
        ranks.pop_back();
      }
      Take(piece, rank);
      busiest_ = busiest;
    }
  }

  bool SameState(int a, int b) const {
    return load_[At(a)] == load_[At(b)] && free_[At(a)] == free_[At(b)];
  }
  bool SameGroup(int a, int b) const {
    for (int i = 0; i < group_; ++i)
      if (!SameState(a * group_ + i, b * group_ + i)) return false;
    return true;
  }
  bool IsLikeEarlierGroup(int group) const {
    if (ordered_ranks_) return false;
    for (int earlier = 0; earlier < group; ++earlier)
      if (SameGroup(earlier, group)) return true;
    return false;
  }
  // Whether an earlier rank is in the same state: one of the same node, or the same place of
  // another group whose ranks all are in the same states.
  bool IsLikeEarlierRank(int rank, int first) const {
    if (ordered_ranks_) return false;
    for (int earlier = first; earlier < rank; ++earlier) {
      if (!SameState(earlier, rank)) continue;
      if (earlier / local_ == rank / local_ && !ordered_groups_) return true;
      if (earlier % group_ == rank % group_ && SameGroup(earlier / group_, rank / group_))
        return true;
    }
    return false;
  }

  // Whether a candidate with this kind of partition distinguishes its ranks.
  bool TellsApart(PartitionBy kind) const {
    for (const Item& item : items_)
      for (const Candidate& c : item.candidates)
        if (c.partition_by() == kind && c.pieces.size() > 1) return true;
    return false;
  }

  bool Put(const PieceRun& piece, int rank) {
    ++nodes_;
    if (!piece.storage.FitsIn(free_[At(rank)])) return false;
    double& node = node_load_[At(rank / local_)];
    before_.emplace_back(load_[At(rank)], node);
    load_[At(rank)] += piece.cost;
    node += piece.cost;
    free_[At(rank)] -= piece.storage;
    sum_ += piece.cost;
    busiest_ = std::max(busiest_, load_[At(rank)]);
    if (cores_ > 0) busiest_ = std::max(busiest_, node / cores_);
    return true;
  }
  void Take(const PieceRun& piece, int rank) {
    std::tie(load_[At(rank)], node_load_[At(rank / local_)]) = before_.back();
    before_.pop_back();
    free_[At(rank)] += piece.storage;
    sum_ -= piece.cost;
  }

  void Leaf() {
    const double rating = Rate(problem_, placed_);
    if (rating >= best_ * kBelow) return;
    if (!IsPlacement()) {
      slipped_ = true;
      return;
    }
    best_ = rating;
    found_ = {placed_, rating};
  }

  // Whether the items also fit with the memory that shards really take.
  bool IsPlacement() const {
    PlacementState state(problem_.items, problem_.topology, problem_.capacity);
    for (size_t i = 0; i < placed_.size(); ++i) {
      const PlacedItem& placed = placed_[i];
      const int item = static_cast<int>(i);
      if (!state.SpotOn(item, placed.candidate, placed.ranks).found()) return false;
      state.Place(item, placed.candidate, placed.ranks);
    }
    return true;
  }

  const SearchProblem& problem_;
  const std::vector<Item> items_;
  double servers_, best_;
  int64_t most_nodes_;
  int ranks_, group_, local_, cores_;
  std::vector<double> load_, node_load_;
  std::vector<Storage> free_;
  std::vector<PlacedItem> placed_;
  std::vector<int> order_;
  std::vector<double> rest_;                       // the least that the items from a depth on cost
  std::vector<std::pair<double, double>> before_;  // loads of rank and node to go back to
  double busiest_ = 0;                             // of ranks, and of nodes over their cores
  double sum_ = 0;
  int64_t nodes_ = 0;
  bool slipped_ = false;
  bool ordered_ranks_ = TellsApart(PartitionBy::kUniform);
  bool ordered_groups_ = TellsApart(PartitionBy::kHost);
  Solution found_;
};

}  // namespace

ExactResult SearchExactly(const SearchProblem& problem, double servers, double best_rating) {
  if (!IsSmall(problem)) return {};
  return BranchAndBound(problem, servers, best_rating).Run();
}

}  // namespace tessera::internal
