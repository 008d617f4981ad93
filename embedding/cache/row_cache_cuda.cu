// The row cache on a GPU. Rows go over the bus by kernels that read and write the host's memory;
// the number of rows to move stays on the device.
#include "embedding/cache/row_cache_run.h"
#include "runtime/algorithms.h"
#include "runtime/launch.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

constexpr int kThreads = 256;

template <typename Count, typename Fn>
__global__ void __launch_bounds__(kThreads)
    ForEachOfKernel(const Count* count, int64_t each, const __grid_constant__ Fn fn) {
  const int64_t n = static_cast<int64_t>(*count) * each;
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step)
    fn(i);
}

}  // namespace

template <>
struct CacheMachine<OnCuda> {
  Context& ctx;

  template <typename Fn>
  void ForEach(int64_t n, const Fn& fn) const {
    internal::ForEach(ctx, n, fn);
  }
  template <typename Count, typename Fn>
  void ForEachOf(const Count* count, int64_t each, int64_t most, const Fn& fn) const {
    // Blocks are as many as the device holds at once: they loop.
    const int64_t blocks = std::min((most * each + kThreads - 1) / kThreads,
                                    int64_t{8} * PropertiesOf(ctx.device()).multiprocessors);
    Launch(ctx, ForEachOfKernel<Count, Fn>, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0,
           count, each, fn);
  }

  template <typename Key>
  void Sort(Tensor& keys, Tensor& places, int bits) const {
    const Tensor keys_scratch = Tensor::Empty(ctx, keys.shape(), keys.dtype()),
                 places_scratch = Tensor::Empty(ctx, places.shape(), places.dtype());
    const SortedPairs<Key> sorted =
        SortPairs(ctx, KeysOf<Key>(keys), KeysOf<Key>(keys_scratch), Counts(places),
                  Counts(places_scratch), keys.numel(), bits);
    if (sorted.keys != KeysOf<Key>(keys)) keys = keys_scratch;
    if (sorted.values != Counts(places)) places = places_scratch;
  }

  template <typename Key>
  void RunStarts(const Tensor& sorted, const Tensor& starts, const Tensor& count) const {
    SelectRunStarts(ctx, KeysOf<Key>(sorted), sorted.numel(), Counts(starts), Counts(count));
  }

  template <typename Place>
  void Flagged(const uint8_t* flags, int64_t n, const Tensor& list, const Tensor& count) const {
    SelectFlagged(ctx, flags, n, list.data<Place>(), count.data<Place>());
  }
};

template class CacheRun<OnCuda>;

}  // namespace tessera::internal
