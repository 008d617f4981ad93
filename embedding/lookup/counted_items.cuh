#ifndef TESSERA_EMBEDDING_LOOKUP_COUNTED_ITEMS_CUH_
#define TESSERA_EMBEDDING_LOOKUP_COUNTED_ITEMS_CUH_
// ForEach (runtime/launch.cuh) over items of which only the device knows the number. For .cu files.
#include <algorithm>

#include "runtime/context.h"
#include "runtime/launch.cuh"

namespace tessera::internal {

template <typename Number, typename Fn>
__global__ void ForEachCountedKernel(const Number* count, int64_t parts,
                                     const __grid_constant__ Fn fn) {
  const int64_t n = static_cast<int64_t>(*count) * parts;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    fn(i);
}

// fn(i) for every i in [0, *count · parts). REQUIRES: *count is at most `most`; fn leaves it alone.
template <typename Number, typename Fn>
void ForEachCounted(Context& ctx, const Number* count, int64_t most, int64_t parts, const Fn& fn) {
  static_assert(std::is_trivially_copyable_v<Fn>);
  constexpr int kThreads = 256;
  // The device holds so many blocks at once; where there are few items, most have nothing to do.
  const int64_t full = int64_t{8} * PropertiesOf(ctx.device()).multiprocessors;
  const int64_t blocks = std::min((most * parts + kThreads - 1) / kThreads, full);
  Launch(ctx, ForEachCountedKernel<Number, Fn>, dim3(static_cast<unsigned>(blocks)), dim3(kThreads),
         0, count, parts, fn);
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_LOOKUP_COUNTED_ITEMS_CUH_
