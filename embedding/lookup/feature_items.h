#ifndef TESSERA_EMBEDDING_LOOKUP_FEATURE_ITEMS_H_
#define TESSERA_EMBEDDING_LOOKUP_FEATURE_ITEMS_H_
// A function of every item of several features, all features in one loop;
// embedding/lookup/feature_items.cuh has the same for a GPU, in one launch.
//
// Feature: a trivially copyable struct with a member `int64_t count`; its items are 0 … count − 1.
// What both devices compute is one trivially copyable struct with
// `TESSERA_HD void operator()(const Feature& feature, int64_t item) const`.
#include <algorithm>
#include <span>
#include <vector>

#include "runtime/context.h"

namespace tessera::internal {

// `grain` items are one piece of work for a thread.
template <typename Feature, typename Fn>
void ForEachItem(OnCpu, Context& ctx, std::span<const Feature> features, int64_t grain,
                 const Fn& fn) {
  std::vector<int64_t> ends;  // of the features, counted over all
  int64_t total = 0;
  for (const Feature& f : features) ends.push_back(total += f.count);
  ParallelFor(ctx, total, grain, [&](int64_t begin, int64_t end) {
    auto f = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
    for (; begin < end; ++f) {
      const int64_t first = ends[f] - features[f].count, stop = std::min(end, ends[f]);
      for (; begin < stop; ++begin) fn(features[f], begin - first);
    }
  });
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_LOOKUP_FEATURE_ITEMS_H_
