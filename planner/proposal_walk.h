#ifndef TESSERA_PLANNER_PROPOSAL_WALK_H_
#define TESSERA_PLANNER_PROPOSAL_WALK_H_
// TorchRec's search: every proposal of every proposer in turn is placed and rated; one that was
// tried before gets its old rating as feedback.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/planner.h"

namespace tessera::internal {

using Rater = std::function<double(const Proposal&, const Placement&)>;

struct WalkSettings {
  std::vector<ProposerSettings> proposers;
  PartitionerSettings partitioner;
  bool stop_at_first_plan = false;
};

struct WalkResult {
  std::vector<PlacedOption> best;  // empty without a plan
  double rating = 0;
  std::string found_by;
  int64_t num_proposals = 0, num_plans = 0;
  std::optional<Storage> least_storage;  // of the proposals that could not be placed
};

WalkResult WalkProposals(const WalkSettings& settings, const Topology& topology,
                         const SearchSpace& space, const Rater& rate);

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_PROPOSAL_WALK_H_
