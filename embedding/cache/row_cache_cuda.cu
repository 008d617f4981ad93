// The row cache on a GPU. Rows go over the bus by kernels that read and write the host's memory;
// the number of rows to move stays on the device.
#include "embedding/cache/row_cache_run.h"
#include "embedding/lookup/feature_items.cuh"
#include "runtime/algorithms.h"
#include "runtime/launch.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

constexpr int kThreads = 256;

// The pieces of each item of a table that a loop counts one by one.
TESSERA_HD int64_t PiecesOf(const CachedTable&) { return 1; }
TESSERA_HD int64_t PiecesOf(const MovedTable& t) { return t.parts.pieces; }

// Row y of the grid: table y.
template <typename Table, int kCapacity, typename Fn>
__global__ void __launch_bounds__(kThreads)
    ForEachOfKernel(const __grid_constant__ FeatureBatch<Table, kCapacity> tables,
                    const __grid_constant__ Fn fn) {
  const Table& t = tables.features[blockIdx.y];
  const int64_t each = PiecesOf(t), n = fn.Count(t) * each;
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step) {
    if constexpr (std::is_same_v<Table, MovedTable>)
      fn(t, i / each, i % each);
    else
      fn(t, i);
  }
}

template <typename Count, typename Fn>
__global__ void __launch_bounds__(kThreads)
    ForEachUpToKernel(const Count* count, int64_t each, const __grid_constant__ Fn fn) {
  const int64_t n = static_cast<int64_t>(*count) * each;
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step)
    fn(i);
}

// Blocks are as many as the device holds at once, four times over if tables share them: they loop.
// However many tables there are, each has a block for every multiprocessor.
unsigned BlocksOf(Context& ctx, int64_t most, size_t tables) {
  const int64_t processors = PropertiesOf(ctx.device()).multiprocessors;
  const int64_t share = std::max(32 * processors / static_cast<int64_t>(tables), processors);
  return static_cast<unsigned>(std::min({(most + kThreads - 1) / kThreads, 8 * processors, share}));
}

template <typename Table, typename Fn>
void ForEachInTables(Context& ctx, std::span<const Table> tables, const Fn& fn) {
  ForFeatureBatches(tables, [&]<int kCapacity>(const FeatureBatch<Table, kCapacity>& batch,
                                               std::span<const Table> part) {
    int64_t most = 0;
    for (const Table& t : part) most = std::max(most, t.batch.num_ids * PiecesOf(t));
    const dim3 blocks(BlocksOf(ctx, most, part.size()), static_cast<unsigned>(part.size()));
    Launch(ctx, ForEachOfKernel<Table, kCapacity, Fn>, blocks, dim3(kThreads), 0, batch, fn);
  });
}

}  // namespace

template <>
struct CacheMachine<OnCuda> {
  Context& ctx;

  template <typename Fn>
  void ForEachId(std::span<const KeyedIds> features, const Fn& fn) const {
    ForEachItem(OnCuda{}, ctx, features, 0, fn);
  }
  template <typename Fn>
  void ForEachOf(std::span<const CachedTable> tables, const Fn& fn) const {
    ForEachInTables(ctx, tables, fn);
  }
  template <typename Fn>
  void ForEachPieceOf(std::span<const MovedTable> tables, const Fn& fn) const {
    ForEachInTables(ctx, tables, fn);
  }
  template <typename Fn>
  void ForEach(int64_t n, const Fn& fn) const {
    internal::ForEach(ctx, n, fn);
  }
  template <typename Count, typename Fn>
  void ForEachUpTo(const Count* count, int64_t each, int64_t most, const Fn& fn) const {
    Launch(ctx, ForEachUpToKernel<Count, Fn>, dim3(BlocksOf(ctx, most * each, 1)), dim3(kThreads),
           0, count, each, fn);
  }

  template <typename Key>
  SortableIds<Key> Sort(const SortableIds<Key>& ids, int64_t n, int bits) const {
    const SortedPairs<Key> sorted =
        SortPairs(ctx, ids.keys, ids.keys_scratch, ids.places, ids.places_scratch, n, bits);
    return {sorted.keys, sorted.keys == ids.keys ? ids.keys_scratch : ids.keys, sorted.values,
            sorted.values == ids.places ? ids.places_scratch : ids.places};
  }
  template <typename Key>
  void NumberRuns(const Key* sorted, int64_t n, uint32_t* numbers) const {
    internal::NumberRuns(ctx, sorted, n, numbers);
  }
  void NumberFlagged(const uint8_t* flags, int64_t n, uint32_t* numbers) const {
    internal::NumberFlagged(ctx, flags, n, numbers);
  }
  template <typename Place>
  void Flagged(const uint8_t* flags, int64_t n, const Tensor& list, const Tensor& count) const {
    SelectFlagged(ctx, flags, n, list.data<Place>(), count.data<Place>());
  }
};

template class CacheRun<OnCuda>;

}  // namespace tessera::internal
