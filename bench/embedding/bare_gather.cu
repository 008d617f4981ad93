#include <algorithm>
#include <bit>

#include "bench/embedding/bare_gather.h"
#include "runtime/launch.cuh"

namespace tessera::bench {
namespace {

constexpr int kThreads = 256, kInFlight = 8;

__device__ __forceinline__ void Add(float4& sum, const float4& x) {
  sum.x = sum.x + x.x;
  sum.y = sum.y + x.y;
  sum.z = sum.z + x.z;
  sum.w = sum.w + x.w;
}

// 2^log_lanes lanes a bag.
__global__ void __launch_bounds__(kThreads) GatherKernel(DeviceGather g, int log_lanes) {
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t bag = thread >> log_lanes;
  const int lanes = 1 << log_lanes, lane = static_cast<int>(thread & (lanes - 1));
  if (bag >= g.num_tables * g.batch) return;
  const int64_t t = bag / g.batch, b = bag % g.batch;
  const float* rows = g.tables[t];
  const int64_t* ids = g.ids + bag * g.pooling;
  for (int64_t column = lane * 4; column < g.dim; column += lanes * 4) {
    float4 sum = {0, 0, 0, 0};
    for (int64_t i = 0; i < g.pooling; i += kInFlight) {
      float4 row[kInFlight];
#pragma unroll
      for (int u = 0; u < kInFlight; ++u)
        if (i + u < g.pooling)
          row[u] = *reinterpret_cast<const float4*>(rows + ids[i + u] * g.dim + column);
#pragma unroll
      for (int u = 0; u < kInFlight; ++u)
        if (i + u < g.pooling) Add(sum, row[u]);
    }
    __stcs(reinterpret_cast<float4*>(g.out + (b * g.num_tables + t) * g.dim + column), sum);
  }
}

}  // namespace

void RunBareGather(OnCuda, Context& ctx, const DeviceGather& g) {
  const auto vectors = static_cast<uint64_t>(std::min<int64_t>(g.dim / 4, 32));
  const int log_lanes = std::bit_width(std::bit_ceil(vectors)) - 1;
  const int64_t threads = (g.num_tables * g.batch) << log_lanes;
  internal::Launch(ctx, GatherKernel, internal::BlocksFor(threads, kThreads), dim3(kThreads), 0, g,
                   static_cast<int>(log_lanes));
}

}  // namespace tessera::bench
