#ifndef TESSERA_PLANNER_SEARCH_PROPOSER_IMPL_H_
#define TESSERA_PLANNER_SEARCH_PROPOSER_IMPL_H_
// Helpers that all proposers share.
#include <algorithm>
#include <memory>
#include <vector>

#include "planner/search/proposer.h"

namespace tessera::internal {

using Candidates = std::vector<const ShardingOption*>;  // of one table

inline double Score(const ShardingOption& option, bool use_depth) {
  return use_depth ? option.max_perf() : option.total_perf();
}

// `options` sorted, ascending and stably, by a score that is computed once each.
template <typename Fn>
Candidates SortedBy(const Candidates& options, Fn&& score) {
  std::vector<std::pair<decltype(score(*options[0])), const ShardingOption*>> scored;
  for (const ShardingOption* option : options) scored.emplace_back(score(*option), option);
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Candidates sorted;
  for (const auto& entry : scored) sorted.push_back(entry.second);
  return sorted;
}

// Candidates of each table, in the order of first appearance.
std::vector<Candidates> ByTable(const Candidates& options);
Candidates AllOf(const std::vector<ShardingOption>& options);

std::unique_ptr<Proposer> MakeOffloadScaleup(const ProposerSettings& settings,
                                             const SearchSpace& space);
std::unique_ptr<Proposer> MakeDynamicProgramming(const ProposerSettings& settings,
                                                 const SearchSpace& space);

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_SEARCH_PROPOSER_IMPL_H_
