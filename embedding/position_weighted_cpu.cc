// Position weights on a CPU. Sums go bag by bag, so that memory is read as it lies; each position
// is added in the same order as one by one.
#include <algorithm>
#include <atomic>
#include <limits>

#include "embedding/lookup/feature_items.h"
#include "embedding/position_weighted_impl.h"
#include "runtime/context.h"

namespace tessera::internal {
namespace {

constexpr int64_t kGrain = 256;  // bags

struct NoteLongBag {
  BagOffsets bags;
  std::atomic<int64_t>* first;
  void operator()(const PositionedBags& f, int64_t item) const {
    if (!IsLongBag(bags, f, item)) return;
    const int64_t bag = f.first_bag + item;
    int64_t seen = first->load();
    while (bag < seen && !first->compare_exchange_weak(seen, bag)) {
    }
  }
};

// Item: chunk.
struct SumChunk {
  BagOffsets bags;
  const float* grad;
  void operator()(const PositionSums& f, int64_t chunk) const {
    float* sums = f.partial + chunk * f.length;
    std::fill(sums, sums + f.length, 0.0f);
    for (int64_t bag = f.BeginOf(chunk); bag < f.EndOf(chunk); ++bag) {
      const int64_t begin = bags.At(bag), n = std::min(bags.At(bag + 1) - begin, f.length);
      for (int64_t j = 0; j < n; ++j) sums[j] += grad[begin + j];
    }
  }
};

template <typename Feature, typename CountOf, typename Fn>
void Visit(Context& ctx, std::span<const Feature> features, int64_t grain, CountOf count_of,
           const Fn& fn) {
  const std::vector<Feature> counted = Counted(features, count_of);
  ForEachItem(OnCpu{}, ctx, std::span(counted), grain, fn);
}

int64_t BagsOf(const PositionedBags& f) { return f.num_bags; }

}  // namespace

void SpreadPositionWeights(OnCpu, Context& ctx, const BagOffsets& bags,
                           std::span<const PositionedBags> features, float* out) {
  Visit(ctx, features, kGrain, BagsOf, SpreadWeights<1>{bags, out});
}

int64_t FirstLongBagSync(OnCpu, Context& ctx, const BagOffsets& bags,
                         std::span<const PositionedBags> features) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> first = kNone;
  Visit(ctx, features, kGrain * 16, BagsOf, NoteLongBag{bags, &first});
  return first == kNone ? -1 : first.load();
}

void SumPositions(OnCpu, Context& ctx, const BagOffsets& bags,
                  std::span<const PositionSums> features, const float* grad) {
  Visit(
      ctx, features, 1, [](const PositionSums& f) { return f.chunks(); }, SumChunk{bags, grad});
  Visit(
      ctx, features, kGrain, [](const PositionSums& f) { return f.length; }, FoldChunks{});
}

}  // namespace tessera::internal
