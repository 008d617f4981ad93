// Position weights on a GPU: 8 lanes a bag give weights; a thread sums one position of one chunk of
// bags, neighbours neighbouring positions.
#include "embedding/lookup/feature_items.cuh"
#include "embedding/position_weighted_impl.h"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

constexpr int kBagLanes = 8;

struct NoteLongBag {
  BagOffsets bags;
  unsigned long long* first;
  __device__ void operator()(const PositionedBags& f, int64_t item) const {
    if (IsLongBag(bags, f, item))
      atomicMin(first, static_cast<unsigned long long>(f.first_bag + item));
  }
};

// Item: chunk · length + position.
struct SumChunkPosition {
  BagOffsets bags;
  const float* grad;
  __device__ void operator()(const PositionSums& f, int64_t item) const {
    const int64_t chunk = item / f.length, j = item % f.length;
    float sum = 0;
    for (int64_t bag = f.BeginOf(chunk); bag < f.EndOf(chunk); ++bag) {
      const int64_t i = bags.At(bag) + j;
      if (i < bags.At(bag + 1)) sum += grad[i];
    }
    f.partial[item] = sum;
  }
};

template <typename Feature, typename CountOf, typename Fn>
void Visit(Context& ctx, std::span<const Feature> features, CountOf count_of, const Fn& fn) {
  const std::vector<Feature> counted = Counted(features, count_of);
  ForEachItem(OnCuda{}, ctx, std::span(counted), 1, fn);
}

}  // namespace

void SpreadPositionWeights(OnCuda, Context& ctx, const BagOffsets& bags,
                           std::span<const PositionedBags> features, float* out) {
  Visit(
      ctx, features, [](const PositionedBags& f) { return f.num_bags * kBagLanes; },
      SpreadWeights<kBagLanes>{bags, out});
}

int64_t FirstLongBagSync(OnCuda, Context& ctx, const BagOffsets& bags,
                         std::span<const PositionedBags> features) {
  const Tensor first = Tensor::Full(ctx, {1}, -1, DType::kI64);
  auto* address = reinterpret_cast<unsigned long long*>(first.data<int64_t>());
  Visit(
      ctx, features, [](const PositionedBags& f) { return f.num_bags; },
      NoteLongBag{bags, address});
  return ReadScalarSync(ctx, first.data<int64_t>());
}

void SumPositions(OnCuda, Context& ctx, const BagOffsets& bags,
                  std::span<const PositionSums> features, const float* grad) {
  Visit(
      ctx, features, [](const PositionSums& f) { return f.chunks() * f.length; },
      SumChunkPosition{bags, grad});
  Visit(
      ctx, features, [](const PositionSums& f) { return f.length; }, FoldChunks{});
}

}  // namespace tessera::internal
