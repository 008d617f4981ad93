#ifndef TESSERA_PLANNER_SEARCH_PROPOSER_H_
#define TESSERA_PLANNER_SEARCH_PROPOSER_H_
// TorchRec's proposers: which choices of one option a table are tried, in which order.
//
//   grid_search              all combinations, unless there are more than max_proposals
//   greedy                   from the cheapest of each table, the table that takes most memory
//                            steps on to its next option
//   uniform                  one sharding type for all tables
//   dynamic_programming      the least sum of perf for each amount of HBM, in bins
//   embedding_offload_scaleup  grows the caches of offloaded tables into the memory that is left
//
// All sorts are stable: equal options keep the order in which they came.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/model/model.h"
#include "planner/search/partitioner.h"

namespace tessera {

enum class ProposerKind {
  kGridSearch,
  kGreedy,
  kUniform,
  kDynamicProgramming,
  kEmbeddingOffloadScaleup
};
std::string ToString(ProposerKind kind);  // "grid_search", …
ProposerKind ParseProposerKind(const std::string& name);

struct ProposerSettings {
  ProposerKind kind = ProposerKind::kGreedy;
  bool use_depth = true;              // an option's score is its dearest shard, else the sum
  std::optional<int> threshold = {};  // greedy: ends after more proposals without a better rating
  int64_t max_proposals = 10000;      // grid_search
  int hbm_bins_per_device = 100;      // dynamic_programming
};
// TorchRec's defaults: grid search, greedy by depth, greedy by sum, uniform.
std::vector<ProposerSettings> TorchRecProposers();

class Proposer {
 public:
  virtual ~Proposer() = default;
  // Empty when there are no more. Tables come in the order of their first option. What it points to
  // lives as long as the proposer and the search space.
  virtual Proposal Next() = 0;
  // The rating of the last proposal, none if it could not be placed.
  virtual void Feedback(std::optional<double> rating) = 0;
};

// Prices an option with another kernel and cache load factor.
using Repricer = std::function<ShardingOption(const ShardingOption&, PlanKernel kernel,
                                              std::optional<double> load_factor)>;

struct SearchSpace {
  const std::vector<ShardingOption>& options;
  const std::vector<Storage>& capacity;  // of each rank
  // For embedding_offload_scaleup alone.
  const PlannerModel* model = nullptr;
  Repricer reprice = {};
};

// Makes a proposer. Whatever `space` refers to must outlive it.
std::unique_ptr<Proposer> MakeProposer(const ProposerSettings& settings, const SearchSpace& space);

}  // namespace tessera
#endif  // TESSERA_PLANNER_SEARCH_PROPOSER_H_
