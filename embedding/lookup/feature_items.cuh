#ifndef TESSERA_EMBEDDING_LOOKUP_FEATURE_ITEMS_CUH_
#define TESSERA_EMBEDDING_LOOKUP_FEATURE_ITEMS_CUH_
// The items of several features on a GPU (embedding/lookup/feature_items.h). Features travel with
// the launch, so that nothing is copied apart; few do not pay for many. For .cu files.
#include <algorithm>
#include <span>
#include <type_traits>

#include "runtime/context.h"
#include "runtime/launch.cuh"

namespace tessera::internal {

template <typename Feature, int kCapacity>
struct FeatureBatch {
  Feature features[kCapacity];
};

// Row y of the grid: feature y.
template <typename Feature, int kCapacity, typename Fn>
__global__ void ForEachItemKernel(const __grid_constant__ FeatureBatch<Feature, kCapacity> batch,
                                  const __grid_constant__ Fn fn) {
  const Feature& f = batch.features[blockIdx.y];
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < f.count;
       i += step)
    fn(f, i);
}

// launch(batch, features) for as many features at a time as travel with a launch.
template <typename Feature, typename LaunchFn>
void ForFeatureBatches(std::span<const Feature> features, const LaunchFn& launch) {
  static_assert(std::is_trivially_copyable_v<Feature>);
  constexpr int kFew = 1024 / sizeof(Feature), kMax = 16384 / sizeof(Feature);
  for (size_t begin = 0; begin < features.size(); begin += kMax) {
    const auto part = features.subspan(begin, std::min<size_t>(kMax, features.size() - begin));
    const auto launch_part = [&]<int kCapacity>() {
      FeatureBatch<Feature, kCapacity> batch = {};
      std::copy(part.begin(), part.end(), batch.features);
      launch(batch, part);
    };
    if (part.size() <= kFew)
      launch_part.template operator()<kFew>();
    else
      launch_part.template operator()<kMax>();
  }
}

// fn(feature, item) for every item of every feature, each by one thread, neighbours by neighbours.
template <typename Feature, typename Fn>
void ForEachItem(OnCuda, Context& ctx, std::span<const Feature> features, int64_t /*grain*/,
                 const Fn& fn) {
  static_assert(std::is_trivially_copyable_v<Fn>);
  ForFeatureBatches(features, [&]<int kCapacity>(const FeatureBatch<Feature, kCapacity>& batch,
                                                 std::span<const Feature> part) {
    constexpr int kThreads = 256;
    int64_t most = 0;
    for (const Feature& f : part) most = std::max(most, f.count);
    const dim3 blocks(std::min(BlocksFor(most, kThreads).x, 1024u),
                      static_cast<unsigned>(part.size()));
    Launch(ctx, ForEachItemKernel<Feature, kCapacity, Fn>, blocks, dim3(kThreads), 0, batch, fn);
  });
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_LOOKUP_FEATURE_ITEMS_CUH_
