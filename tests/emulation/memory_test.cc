// Device memory: who may touch it, which mistakes are found, and when it runs out.
#include "tools/emulation/memory.h"

#include <gmock/gmock.h>

#include <iterator>
#include <set>
#include <stdexcept>
#include <string>

#include "tests/emulation/run_kernel.h"

namespace tessera::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using ::testing::UnorderedElementsAreArray;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

int* Allocate(size_t count) {
  void* p = nullptr;
  EXPECT_EQ(cudaMallocAsync(&p, count * sizeof(int), nullptr), cudaSuccess);
  return static_cast<int*>(p);
}

void WriteAt(int* p, int place) { p[place] = 1; }
constexpr int kLineOfWriteAt = __LINE__ - 1;

TEST(DeviceMemory, TheHostMayNotTouchIt) {
  const DeviceArray<int> array(10, 3);
  EXPECT_THAT(array.Values(), Each(3));
  EXPECT_DEATH(*const_cast<volatile int*>(array.get()) = 1, "");
  EXPECT_DEATH((void)*const_cast<volatile int*>(array.get()), "");
}

TEST(DeviceMemory, NewMemoryHoldsAPatternInTurn) {
  constexpr int kCount = std::size(cuda_emulation::kFreshPatterns);
  std::set<uint64_t> seen;
  for (int i = 0; i < kCount; ++i) {
    int* p = Allocate(4);
    uint64_t value = 0;
    cudaMemcpyAsync(&value, p + 2, sizeof value, cudaMemcpyDefault, nullptr);
    seen.insert(value);
    cudaFreeAsync(p, nullptr);
  }
  cudaDeviceSynchronize();
  EXPECT_THAT(seen, UnorderedElementsAreArray(cuda_emulation::kFreshPatterns));
}

TEST(DeviceMemory, AWritePastTheEndIsReported) {
  int* p = Allocate(10);
  if (kAddressSanitizer) {
    EXPECT_DEATH(
        {
          Start(Grid(1, 32), WriteAt, p, 10);
          cudaDeviceSynchronize();
        },
        "use-after-poison .*memory_test.cc:" + std::to_string(kLineOfWriteAt) + " in WriteAt");
    return;
  }
  Start(Grid(1, 32), WriteAt, p, 10);
  cudaFreeAsync(p, nullptr);
  EXPECT_THAT([] { cudaDeviceSynchronize(); },
              ThrowsMessage<std::logic_error>(
                  HasSubstr("wrote past the end of an allocation of 40 bytes")));
}

TEST(DeviceMemory, AUseAfterFreeIsFound) {
  if (!kAddressSanitizer) GTEST_SKIP() << "SKIPPED: AddressSanitizer finds this";
  int* p = Allocate(10);
  cudaFreeAsync(p, nullptr);
  EXPECT_DEATH(
      {
        Start(Grid(1, 32), WriteAt, p, 3);
        cudaDeviceSynchronize();
      },
      "use-after-poison");
}

TEST(DeviceMemory, AnOverrunOfSharedMemoryIsFound) {
  if (!kAddressSanitizer) GTEST_SKIP() << "SKIPPED: AddressSanitizer finds this";
  EXPECT_DEATH(
      {
        Start(
            Grid(1, 32, 16),
            +[](int place) { static_cast<int*>(cuda_emulation::DynamicShared())[place] = 1; }, 4);
        cudaDeviceSynchronize();
      },
      "heap-buffer-overflow");
}

TEST(DeviceMemory, RunsOut) {
  size_t available = 0, total = 0;
  cudaMemGetInfo(&available, &total);
  cuda_emulation::SetMemoryLimit(static_cast<int64_t>(total - available) + 1000);
  void *first = nullptr, *second = nullptr;
  EXPECT_EQ(cudaMallocAsync(&first, 800, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMallocAsync(&second, 800, nullptr), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  // Memory can be allocated again when its free has run.
  cudaFreeAsync(first, nullptr);
  EXPECT_EQ(cudaMallocAsync(&second, 800, nullptr), cudaSuccess);
  cudaFreeAsync(second, nullptr);
  cudaDeviceSynchronize();
  cuda_emulation::SetMemoryLimit(static_cast<int64_t>(total));
}

}  // namespace
}  // namespace tessera::testing
