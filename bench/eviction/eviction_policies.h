#ifndef TESSERA_BENCH_EVICTION_EVICTION_POLICIES_H_
#define TESSERA_BENCH_EVICTION_EVICTION_POLICIES_H_
// Policies of managed collision when there are more ids than rows, by name, and their hits.
//
//   growing_E, growing_E_twice   admit_after 1 and 2
//   mch_E, mch_E_F               a filter F: dynamic (3 times the average count), average,
//                                probabilistic (a chance of 0.3 an occurrence)
//   zch_none, zch_ttl, zch_lru   hash ZCH, ids without a slot having no row
//
// E: lru, lfu or distance_lfu.
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "embedding/managed_collision/managed_collision_config.h"
#include "runtime/context.h"

namespace tessera::bench {

std::vector<std::string> EvictionPolicies();

struct PolicyOptions {
  int64_t capacity = 0;  // ids that have rows at a time
  int64_t interval = 1;  // calls between two evictions of MCH
  int64_t ttl = 1;       // calls that an id keeps its slot with zch_ttl
};

struct Policy {
  std::shared_ptr<ManagedCollisionModule> module;
  int64_t miss_row = -1;  // what ids without a row of their own read
};

// Throws Error for a name that is none.
Policy MakePolicy(Context& ctx, const std::string& name, const PolicyOptions& options);

// Called after each batch, with the row of each id, −1 where it has none of its own, and the rows
// that went from one id to another.
using SeeRows = std::function<void(std::span<const int64_t> ids, std::span<const int64_t> rows,
                                   std::span<const int64_t> evicted)>;

// Trains on the ids, `batch` a call; how many occurrences are hits, as belady.h counts them.
int64_t HitsOf(Context& ctx, const Policy& policy, std::span<const int64_t> ids, int64_t batch,
               const SeeRows& see = nullptr);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EVICTION_EVICTION_POLICIES_H_
