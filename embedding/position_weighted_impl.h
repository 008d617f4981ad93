#ifndef TESSERA_EMBEDDING_POSITION_WEIGHTED_IMPL_H_
#define TESSERA_EMBEDDING_POSITION_WEIGHTED_IMPL_H_
// The loop over one bag that both devices run, and the devices' overloads.
#include <span>
#include <vector>

#include "embedding/lookup/row_ops.h"
#include "embedding/position_weighted.h"
#include "runtime/device/device.h"

namespace tessera::internal {

// Begins and ends of bags; offsets that leave the batch are cut: nothing outside is touched.
struct BagOffsets {
  IndexArray offsets;
  int64_t num_ids;

  TESSERA_HD int64_t At(int64_t i) const {
    const int64_t offset = offsets[i];
    return offset < 0 ? 0 : offset > num_ids ? num_ids : offset;
  }
};

// One key's bags; weight is null where all ids weigh 1. `count` is set for each loop
// (embedding/lookup/feature_items.h).
struct PositionedBags {
  int64_t count;
  int64_t first_bag, num_bags;
  const float* weight;
  int64_t length;  // of the weight
};

// kLanes items a bag, which share its ids.
template <int kLanes>
struct SpreadWeights {
  BagOffsets bags;
  float* out;

  TESSERA_HD void operator()(const PositionedBags& f, int64_t item) const {
    const int64_t bag = f.first_bag + item / kLanes, begin = bags.At(bag), end = bags.At(bag + 1);
    for (int64_t j = item % kLanes; begin + j < end; j += kLanes)
      out[begin + j] = f.weight == nullptr ? 1.0f : j < f.length ? f.weight[j] : 0.0f;
  }
};

// Whether bag number `item` of the feature is longer than the weight.
TESSERA_HD bool IsLongBag(const BagOffsets& bags, const PositionedBags& f, int64_t item) {
  const int64_t bag = f.first_bag + item;
  return f.weight != nullptr && bags.At(bag + 1) - bags.At(bag) > f.length;
}

// Inputs of one key's gradient: so_far [length], of earlier micro-batches, or null, partial
// [chunks, length] and sum [length].
struct PositionSums {
  int64_t count;
  int64_t first_bag, num_bags, length;
  const float* so_far;
  float *partial, *sum;

  TESSERA_HD int64_t chunks() const { return (num_bags + kBagsPerChunk - 1) / kBagsPerChunk; }
  TESSERA_HD int64_t BeginOf(int64_t chunk) const { return first_bag + chunk * kBagsPerChunk; }
  TESSERA_HD int64_t EndOf(int64_t chunk) const {
    const int64_t left = num_bags - chunk * kBagsPerChunk;
    return BeginOf(chunk) + (left < kBagsPerChunk ? left : kBagsPerChunk);
  }
};

// Item: position. The chunks' sums, in order.
struct FoldChunks {
  TESSERA_HD void operator()(const PositionSums& f, int64_t j) const {
    float sum = f.so_far == nullptr ? 0 : f.so_far[j];
    for (int64_t chunk = 0; chunk < f.chunks(); ++chunk) sum += f.partial[chunk * f.length + j];
    f.sum[j] = sum;
  }
};

// out[i] for every id i of the features' bags.
void SpreadPositionWeights(OnCpu, Context& ctx, const BagOffsets& bags,
                           std::span<const PositionedBags> features, float* out);
void SpreadPositionWeights(OnCuda, Context& ctx, const BagOffsets& bags,
                           std::span<const PositionedBags> features, float* out);
// The first bag that is longer than its feature's weight, or −1.
int64_t FirstLongBagSync(OnCpu, Context& ctx, const BagOffsets& bags,
                         std::span<const PositionedBags> features);
int64_t FirstLongBagSync(OnCuda, Context& ctx, const BagOffsets& bags,
                         std::span<const PositionedBags> features);
// Fills every feature's sum from the gradients of the ids' weights.
void SumPositions(OnCpu, Context& ctx, const BagOffsets& bags,
                  std::span<const PositionSums> features, const float* grad);
void SumPositions(OnCuda, Context& ctx, const BagOffsets& bags,
                  std::span<const PositionSums> features, const float* grad);

// The features with `count_of(feature)` as their counts.
template <typename Feature, typename CountOf>
std::vector<Feature> Counted(std::span<const Feature> features, CountOf count_of) {
  std::vector<Feature> counted(features.begin(), features.end());
  for (Feature& f : counted) f.count = count_of(f);
  return counted;
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_POSITION_WEIGHTED_IMPL_H_
