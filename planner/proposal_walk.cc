#include "planner/proposal_walk.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

namespace tessera::internal {
namespace {

// Table, type, kernel and load factor of each option, by table.
using ProposalKey = std::vector<std::array<int64_t, 4>>;

ProposalKey KeyOf(const Proposal& proposal) {
  ProposalKey key;
  for (const ShardingOption* o : proposal)
    key.push_back({o->table, static_cast<int64_t>(o->type), static_cast<int64_t>(o->kernel),
                   o->cache_load_factor ? std::bit_cast<int64_t>(*o->cache_load_factor) : -1});
  std::sort(key.begin(), key.end());
  return key;
}

class Walk {
 public:
  Walk(const WalkSettings& settings, const Topology& topology, const SearchSpace& space,
       const Rater& rate)
      : settings_(settings), topology_(topology), space_(space), rate_(rate) {}

  WalkResult Run() {
    for (const ProposerSettings& proposer : settings_.proposers) {
      Exhaust(proposer);
      if (Done()) break;
    }
    return std::move(result_);
  }

 private:
  bool Done() const { return settings_.stop_at_first_plan && !result_.best.empty(); }

  void Exhaust(const ProposerSettings& settings) {
    const std::unique_ptr<Proposer> proposer = MakeProposer(settings, space_);
    for (Proposal p = proposer->Next(); !p.empty() && !Done(); p = proposer->Next()) {
      const auto [at, added] = ratings_.try_emplace(KeyOf(p));
      if (added) at->second = Try(p, settings.kind);
      proposer->Feedback(at->second);
    }
  }

  std::optional<double> Try(const Proposal& proposal, ProposerKind kind) {
    ++result_.num_proposals;
    const Placement placement =
        Partition(settings_.partitioner, topology_, space_.capacity, proposal);
    if (placement.failed != nullptr) {
      Storage sum;
      for (const ShardingOption* option : proposal) sum += option->total_storage();
      result_.least_storage = std::min(result_.least_storage.value_or(sum), sum);
      return {};
    }
    ++result_.num_plans;
    const double rating = rate_(proposal, placement);
    if (result_.best.empty() || rating < result_.rating) Keep(proposal, placement, rating, kind);
    return rating;
  }

  void Keep(const Proposal& proposal, const Placement& placement, double rating,
            ProposerKind kind) {
    result_.best.clear();
    for (size_t o = 0; o < proposal.size(); ++o)
      result_.best.push_back({*proposal[o], placement.ranks[o]});
    result_.rating = rating;
    result_.found_by = ToString(kind);
  }

  const WalkSettings& settings_;
  const Topology& topology_;
  const SearchSpace& space_;
  const Rater& rate_;
  std::map<ProposalKey, std::optional<double>> ratings_;
  WalkResult result_;
};

}  // namespace

WalkResult WalkProposals(const WalkSettings& settings, const Topology& topology,
                         const SearchSpace& space, const Rater& rate) {
  return Walk(settings, topology, space, rate).Run();
}

}  // namespace tessera::internal
