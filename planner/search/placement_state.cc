#include "planner/search/placement_state.h"

#include <algorithm>
#include <numeric>

#include "planner/model/at.h"

namespace tessera::internal {
namespace {

double Pow8(double x) {
  const double square = x * x, fourth = square * square;
  return fourth * fourth;
}

// Calls fn(piece, rank) for each shard of a candidate.
template <typename Fn>
void ForEachPiece(const Candidate& candidate, const std::vector<int>& ranks, Fn&& fn) {
  size_t i = 0;
  for (const PieceRun& piece : candidate.pieces)
    for (int64_t k = 0; k < piece.count && i < ranks.size(); ++k) fn(piece, ranks[i++]);
}

}  // namespace

PlacementState::PlacementState(const std::vector<Item>& items, const Topology& topology,
                               const std::vector<Storage>& capacity)
    : items_(items),
      ranks_(topology.world_size),
      local_(topology.local_world_size),
      group_(topology.group_size()),
      cores_(topology.cores_per_node),
      load_(At(ranks_)),
      node_load_(At(ranks_ / local_)),
      free_(capacity),
      placed_(items.size()),
      on_rank_(At(ranks_)) {
  int rules = 0;
  for (const Item& item : items)
    for (const int rule : item.apart) rules = std::max(rules, rule + 1);
  apart_.assign(At(rules), std::vector<int>(At(ranks_)));
}

const Candidate& PlacementState::CandidateOf(int item) const {
  return items_[At(item)].candidates[At(placed_[At(item)].candidate)];
}

void PlacementState::Add(int rank, double cost, const Storage& storage, int sign) {
  load_[At(rank)] += sign * cost;
  node_load_[At(rank / local_)] += sign * cost;
  if (sign > 0)
    free_[At(rank)] -= storage;
  else
    free_[At(rank)] += storage;
}

double PlacementState::Potential(double load) const { return Pow8(load / scale_); }

double PlacementState::NodePotential(int rank) const {
  return cores_ == 0 ? 0 : Potential(node_load_[At(rank / local_)] / cores_);
}

bool PlacementState::Allowed(const Item& item, int rank) const {
  return std::all_of(item.apart.begin(), item.apart.end(),
                     [&](int rule) { return apart_[At(rule)][At(rank)] == 0; });
}

PlacementState::Busy PlacementState::BusyWith(double cost, int rank) const {
  const double load = load_[At(rank)];
  if (cores_ == 0) return {load, load, 0};
  const double node = node_load_[At(rank / local_)];
  return {std::max(load + cost, (node + cost) / cores_), load, node};
}

int PlacementState::LeastLoaded(const Item& item, const PieceRun& piece, int begin, int end,
                                const std::vector<int>* taken) const {
  int best = -1;
  Busy least{};
  for (int r = begin; r < end; ++r) {
    const Busy own = BusyWith(piece.cost, r);
    if (best >= 0 && own >= least) continue;
    if (!piece.storage.FitsIn(free_[At(r)]) || !Allowed(item, r)) continue;
    if (taken != nullptr && std::find(taken->begin(), taken->end(), r) != taken->end()) continue;
    best = r;
    least = own;
  }
  return best;
}

void PlacementState::Put(const PieceRun& piece, int rank, Spot& spot) {
  const double before = Potential(load_[At(rank)]) + NodePotential(rank);
  Add(rank, piece.cost, piece.storage, 1);
  spot.potential += Potential(load_[At(rank)]) + NodePotential(rank) - before;
  spot.busiest = std::max(spot.busiest, load_[At(rank)]);
  spot.ranks.push_back(rank);
}

void PlacementState::TakeBack(const Candidate& candidate, const Spot& spot) {
  ForEachPiece(candidate, spot.ranks,
               [&](const PieceRun& piece, int rank) { Add(rank, piece.cost, piece.storage, -1); });
}

bool PlacementState::PutAnywhere(const Item& item, const Candidate& candidate, int begin, int end,
                                 Spot& spot) {
  const std::vector<int>* taken = candidate.distinct_ranks() ? &spot.ranks : nullptr;
  for (const PieceRun& piece : candidate.pieces) {
    for (int64_t k = 0; k < piece.count; ++k) {
      const int rank = LeastLoaded(item, piece, begin, end, taken);
      if (rank < 0) return false;
      Put(piece, rank, spot);
    }
  }
  return true;
}

bool PlacementState::PutInOrder(const Item& item, const Candidate& candidate,
                                const std::vector<int>& ranks, Spot& spot) {
  if (candidate.shards != static_cast<int64_t>(ranks.size())) return false;
  bool fits = true;
  ForEachPiece(candidate, ranks, [&](const PieceRun& piece, int rank) {
    fits = fits && piece.storage.FitsIn(free_[At(rank)]) && Allowed(item, rank);
    if (fits) Put(piece, rank, spot);
  });
  return fits;
}

std::vector<int> PlacementState::GroupRanks(int group) const {
  std::vector<int> ranks(At(group_));
  std::iota(ranks.begin(), ranks.end(), group * group_);
  return ranks;
}

Spot PlacementState::OnGroup(const Item& item, const Candidate& candidate, int group) {
  Spot spot{.potential = 0};
  const bool fits = candidate.type == ShardingType::kTableColumnWise
                        ? PutAnywhere(item, candidate, group * group_, (group + 1) * group_, spot)
                        : PutInOrder(item, candidate, GroupRanks(group), spot);
  TakeBack(candidate, spot);
  return fits ? spot : Spot{};
}

Spot PlacementState::OnBestGroup(const Item& item, const Candidate& candidate) {
  Spot best;
  for (int group = 0; group < ranks_ / group_; ++group) {
    Spot spot = OnGroup(item, candidate, group);
    if (spot.potential < best.potential) best = std::move(spot);
  }
  return best;
}

// Puts each column block on a group of its own, as long as there are groups.
Spot PlacementState::OnGroups(const Item& item, const Candidate& candidate) {
  const int groups = ranks_ / group_;
  const int blocks = static_cast<int>(candidate.shards / group_);
  if (candidate.shards % group_ != 0) return {};
  std::vector<double> busiest(At(groups));
  for (int r = 0; r < groups * group_; ++r)
    busiest[At(r / group_)] = std::max(busiest[At(r / group_)], load_[At(r)]);
  std::vector<int> order(At(groups));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return busiest[At(a)] < busiest[At(b)]; });
  const int windows = blocks >= groups ? 1 : groups - blocks + 1;
  for (int begin = 0; begin < windows; ++begin) {
    std::vector<int> ranks;
    for (int b = 0; b < blocks; ++b)
      for (const int r : GroupRanks(order[At((begin + b) % groups)])) ranks.push_back(r);
    Spot spot{.potential = 0};
    const bool fits = PutInOrder(item, candidate, ranks, spot);
    TakeBack(candidate, spot);
    if (fits) return spot;
  }
  return {};
}

Spot PlacementState::BestSpot(int item_index, int candidate_index) {
  const Item& item = items_[At(item_index)];
  const Candidate& candidate = item.candidates[At(candidate_index)];
  switch (candidate.partition_by()) {
    case PartitionBy::kDevice: {
      Spot spot{.potential = 0};
      const bool fits = PutAnywhere(item, candidate, 0, ranks_, spot);
      TakeBack(candidate, spot);
      return fits ? spot : Spot{};
    }
    case PartitionBy::kHost:
      return OnBestGroup(item, candidate);
    case PartitionBy::kMultiHost:
      return OnGroups(item, candidate);
    case PartitionBy::kUniform: {
      std::vector<int> all(At(ranks_));
      std::iota(all.begin(), all.end(), 0);
      return SpotOn(item_index, candidate_index, all);
    }
  }
  return {};
}

Spot PlacementState::SpotOn(int item, int candidate, const std::vector<int>& ranks) {
  const Candidate& c = items_[At(item)].candidates[At(candidate)];
  Spot spot{.potential = 0};
  const bool fits = PutInOrder(items_[At(item)], c, ranks, spot);
  TakeBack(c, spot);
  return fits ? spot : Spot{};
}

void PlacementState::Place(int item, int candidate, const std::vector<int>& ranks) {
  placed_[At(item)] = {candidate, ranks};
  const Candidate& c = items_[At(item)].candidates[At(candidate)];
  const bool on_all = c.partition_by() == PartitionBy::kUniform;
  if (on_all) on_all_.push_back(item);
  ForEachPiece(c, ranks, [&](const PieceRun& piece, int rank) {
    Add(rank, piece.cost, piece.storage, 1);
    for (const int rule : items_[At(item)].apart) ++apart_[At(rule)][At(rank)];
    std::vector<int>& here = on_rank_[At(rank)];
    if (!on_all && (here.empty() || here.back() != item)) here.push_back(item);
  });
}

void PlacementState::Remove(int item) {
  const Candidate& c = CandidateOf(item);
  if (c.partition_by() == PartitionBy::kUniform) std::erase(on_all_, item);
  ForEachPiece(c, placed_[At(item)].ranks, [&](const PieceRun& piece, int rank) {
    Add(rank, piece.cost, piece.storage, -1);
    for (const int rule : items_[At(item)].apart) --apart_[At(rule)][At(rank)];
    std::erase(on_rank_[At(rank)], item);
  });
  placed_[At(item)] = {};
}

double PlacementState::Rating() const {
  double rating = *std::max_element(load_.begin(), load_.end());
  if (cores_ > 0)
    rating = std::max(rating, *std::max_element(node_load_.begin(), node_load_.end()) / cores_);
  return rating;
}

int PlacementState::Bottleneck() const {
  const auto busier = [&](int a, int b) { return load_[At(a)] < load_[At(b)]; };
  if (const std::vector<int> node = BottleneckNode(); !node.empty())
    return *std::max_element(node.begin(), node.end(), busier);
  return static_cast<int>(std::max_element(load_.begin(), load_.end()) - load_.begin());
}

std::vector<int> PlacementState::BottleneckNode() const {
  if (cores_ == 0) return {};
  const auto node = std::max_element(node_load_.begin(), node_load_.end());
  if (*node / cores_ <= *std::max_element(load_.begin(), load_.end())) return {};
  std::vector<int> ranks(At(local_));
  std::iota(ranks.begin(), ranks.end(), static_cast<int>(node - node_load_.begin()) * local_);
  return ranks;
}

}  // namespace tessera::internal
