#ifndef TESSERA_PLANNER_SEARCH_PLACEMENT_STATE_H_
#define TESSERA_PLANNER_SEARCH_PLACEMENT_STATE_H_
// A placement under construction: what each rank holds and does, and where a candidate would go.
//
// A place is judged by its potential, Σ (load / scale)^8 over the ranks that it changes (and over
// their nodes, where ranks share cores), after minus before: nearly the largest load, but smooth,
// so that a step that helps the second busiest rank counts too.
#include <compare>
#include <vector>

#include "planner/model/topology.h"
#include "planner/search/search_items.h"

namespace tessera::internal {

// The ranks of a candidate's shards.
struct Spot {
  std::vector<int> ranks = {};
  double potential = kNever;  // what placing it there adds; kNever if it fits nowhere
  double busiest = 0;         // the largest load of a rank that it touches

  bool found() const { return potential < kNever; }
};

struct PlacedItem {
  int candidate = -1;  // -1: not placed
  std::vector<int> ranks;
};

class PlacementState {
 public:
  // All must outlive this.
  PlacementState(const std::vector<Item>& items, const Topology& topology,
                 const std::vector<Storage>& capacity);

  // Sets the value that potentials are relative to.
  void SetScale(double scale) { scale_ = scale; }

  // The least loaded ranks that have room (where ranks share cores, with their nodes), `candidate`
  // by type. Does not change the state.
  Spot BestSpot(int item, int candidate);
  // Finds a spot on the given ranks; not found where they have no room.
  Spot SpotOn(int item, int candidate, const std::vector<int>& ranks);

  void Place(int item, int candidate, const std::vector<int>& ranks);
  void Remove(int item);

  // The busiest rank's load, or its node's over cores, if that is more.
  double Rating() const;
  // The first rank of largest load, or of the node that rates.
  int Bottleneck() const;
  // The ranks of the node that rates; none where a rank does.
  std::vector<int> BottleneckNode() const;

  const std::vector<PlacedItem>& placed() const { return placed_; }
  const std::vector<double>& load() const { return load_; }
  const std::vector<Storage>& free() const { return free_; }
  // Items with a shard on a rank, those on all ranks left out.
  const std::vector<int>& on_rank(int rank) const { return on_rank_[static_cast<size_t>(rank)]; }
  // Items that lie on all ranks.
  const std::vector<int>& on_all() const { return on_all_; }
  const Candidate& CandidateOf(int item) const;

 private:
  void Add(int rank, double cost, const Storage& storage, int sign);
  double Potential(double load) const;
  double NodePotential(int rank) const;
  bool Allowed(const Item& item, int rank) const;
  // How busy a rank would be with `cost` more; compared.
  struct Busy {
    double rating, load, node;
    auto operator<=>(const Busy&) const = default;
  };
  Busy BusyWith(double cost, int rank) const;
  int LeastLoaded(const Item& item, const PieceRun& piece, int begin, int end,
                  const std::vector<int>* taken) const;
  // Puts a shard on a rank for the time being, and adds to the spot what that costs.
  void Put(const PieceRun& piece, int rank, Spot& spot);
  void TakeBack(const Candidate& candidate, const Spot& spot);

  bool PutAnywhere(const Item& item, const Candidate& candidate, int begin, int end, Spot& spot);
  bool PutInOrder(const Item& item, const Candidate& candidate, const std::vector<int>& ranks,
                  Spot& spot);
  Spot OnGroup(const Item& item, const Candidate& candidate, int group);
  Spot OnBestGroup(const Item& item, const Candidate& candidate);
  Spot OnGroups(const Item& item, const Candidate& candidate);
  std::vector<int> GroupRanks(int group) const;

  const std::vector<Item>& items_;
  int ranks_, local_, group_, cores_;
  double scale_ = 1;
  std::vector<double> load_;
  std::vector<double> node_load_;
  std::vector<Storage> free_;
  std::vector<PlacedItem> placed_;
  std::vector<std::vector<int>> on_rank_;
  std::vector<int> on_all_;
  std::vector<std::vector<int>> apart_;  // by rule: shards under it on each rank
};

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_SEARCH_PLACEMENT_STATE_H_
