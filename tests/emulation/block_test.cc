// Threads of a block: places, shared memory, barriers.
#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/emulation/run_kernel.h"

namespace tessera::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

TEST(Block, EveryThreadKnowsItsPlace) {
  const DeviceArray<int> out(2 * 3 * 4 * 8, 0);
  const auto kernel = +[](int* p) {
    const unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    p[block * 32 + thread] += static_cast<int>(block * 100 + thread);
  };
  Start(Grid(dim3(2, 3), dim3(4, 4, 2)), kernel, out.get());
  const std::vector<int> values = out.Values();
  for (int block = 0; block < 6; ++block)
    for (int thread = 0; thread < 32; ++thread)
      EXPECT_EQ(values[static_cast<size_t>(block * 32 + thread)], block * 100 + thread);
}

// The sum of a block's numbers, by halves through dynamic shared memory.
template <bool with_barriers>
void SumBlock(const unsigned* in, unsigned* out) {
  auto* shared = static_cast<unsigned*>(cuda_emulation::DynamicShared());
  const unsigned t = threadIdx.x;
  shared[t] = in[blockIdx.x * blockDim.x + t];
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (with_barriers) __syncthreads();
    if (t < half) shared[t] += shared[t + half];
  }
  if (t == 0) out[blockIdx.x] = shared[0];
}

std::vector<unsigned> SumsOfBlocks(void (*kernel)(const unsigned*, unsigned*)) {
  const DeviceArray<unsigned> in(3 * 128, 1), out(3, 0);
  Start(Grid(3, 128, 128 * sizeof(unsigned)), kernel, in.get(), out.get());
  return out.Values();
}

TEST(Block, SumsThroughSharedMemory) { EXPECT_THAT(SumsOfBlocks(SumBlock<true>), Each(128u)); }

TEST(Block, ShuffledThreadsShowAMissingBarrier) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    cuda_emulation::ShuffleThreads(seed);
    EXPECT_THAT(SumsOfBlocks(SumBlock<true>), Each(128u));
    EXPECT_THAT(SumsOfBlocks(SumBlock<false>), Not(Each(128u)));
  }
  cuda_emulation::ShuffleThreads(0);
}

TEST(Block, SharedMemoryIsNotInitialisedForEachBlock) {
  const DeviceArray<int> out(2, 0);
  const auto kernel = +[](int* p) {
    int* shared = static_cast<int*>(cuda_emulation::DynamicShared());
    if (threadIdx.x == 0) p[blockIdx.x] = shared[0]++ == static_cast<int>(0xcdcdcdcd);
  };
  Start(Grid(2, 32, sizeof(int)), kernel, out.get());
  EXPECT_THAT(out.Values(), Each(1));
}

TEST(Block, CountsAtABarrier) {
  const DeviceArray<int> out(64, 0);
  const auto kernel = +[](int* p) {
    const int t = static_cast<int>(threadIdx.x);
    p[t] = __syncthreads_count(t % 3 == 0) * 10 + __syncthreads_or(t == 63);
  };
  Start(Grid(1, 64), kernel, out.get());
  EXPECT_THAT(out.Values(), Each(221));
}

TEST(Block, ThreadsThatEndedAreNotWaitedFor) {
  const DeviceArray<int> out(1, 0);
  const auto kernel = +[](int* p) {
    if (threadIdx.x >= 16) return;
    __syncthreads();
    if (threadIdx.x == 0) *p = 7;
  };
  Start(Grid(1, 64), kernel, out.get());
  EXPECT_THAT(out.Values(), ElementsAre(7));
}

TEST(Block, ABarrierThatSomeDoNotReachIsAnError) {
  // Lane 0 waits for the block, the others of its warp wait for lane 0.
  const auto stuck = +[] {
    if (threadIdx.x == 0) __syncthreads();
    if (threadIdx.x < 32) __syncwarp();
  };
  Start(Grid(1, 64), stuck);
  EXPECT_THAT([] { cudaDeviceSynchronize(); },
              ThrowsMessage<std::logic_error>(
                  HasSubstr("waits at a barrier that not all live threads reach")));
}

TEST(Block, AnErrorLeavesTheDeviceUsable) {
  Start(
      Grid(2, 64), +[] { throw std::logic_error("from a kernel"); });
  EXPECT_THAT([] { cudaDeviceSynchronize(); },
              ThrowsMessage<std::logic_error>(HasSubstr("from a kernel")));
  EXPECT_THAT(SumsOfBlocks(SumBlock<true>), Each(128u));
}

TEST(Block, RefusesGridsThatHardwareDoes) {
  const auto kernel = +[] {};
  for (const auto& grid : {Grid(1, 0), Grid(1, 1025), Grid(0, 32)}) {
    EXPECT_EQ(cudaLaunchKernelEx(&grid, kernel), cudaErrorInvalidConfiguration);
  }
}

}  // namespace
}  // namespace tessera::testing
