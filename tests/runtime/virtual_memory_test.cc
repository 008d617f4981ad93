#include "runtime/virtual_memory.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace tessera {
namespace {

constexpr int64_t kMiB = 1 << 20;

TEST(VirtualMemoryTest, TakesMemoryWhereItIsTouched) {
  const int64_t tebibyte = int64_t{1} << 40;
  const Tensor tensor = EmptyInVirtualMemory({tebibyte / 8}, DType::kI64);
  EXPECT_LT(reinterpret_cast<uintptr_t>(tensor.raw_data()) % (2 * kMiB), 4096u);
  const Tensor front = tensor.Rows(0, 16 * kMiB / 8);
  EXPECT_EQ(ResidentBytes(front), 0);
  auto* numbers = tensor.data<int64_t>();
  EXPECT_EQ(numbers[tensor.numel() - 1], 0);
  for (int64_t i = 0; i < 3 * kMiB / 8; ++i) {
    ASSERT_EQ(numbers[i], 0);
    numbers[i] = i;
  }
  EXPECT_GE(ResidentBytes(front), 3 * kMiB);
  EXPECT_LE(ResidentBytes(front), TouchedBytes(3 * kMiB, tensor.nbytes()));
}

TEST(VirtualMemoryTest, SmallOnesTakeSmallPages) {
  const Tensor tensor = EmptyInVirtualMemory({1000}, DType::kF32);
  tensor.data<float>()[999] = 3;
  EXPECT_LE(ResidentBytes(tensor), 2 * 4096);
  EXPECT_EQ(TouchedBytes(1, 4000), 4096);
  EXPECT_EQ(TouchedBytes(0, 4000), 0);
  EXPECT_EQ(TouchedBytes(1, 100 * kMiB), 2 * kMiB);
  EXPECT_EQ(TouchedBytes(3 * kMiB, 3 * kMiB), 3 * kMiB + 4096);
  EXPECT_EQ(EmptyInVirtualMemory({0, 5}).numel(), 0);
}

// A table and its state are some blocks apart, and get different colors (page_color.h).
TEST(VirtualMemoryTest, LargeBlocksBeginAtDifferentPlacesOfTheirFirstPages) {
  Context ctx({.threads = 1});
  for (const bool reserved : {false, true}) {
    std::vector<Tensor> blocks;
    for (int i = 0; i < 31; ++i)
      blocks.push_back(reserved ? EmptyInVirtualMemory({kMiB}) : Tensor::Empty(ctx, {17 * kMiB}));
    std::set<uintptr_t> places;
    for (const Tensor& block : blocks) {
      const uintptr_t place = reinterpret_cast<uintptr_t>(block.raw_data()) % (2 * kMiB);
      EXPECT_LT(place, 4096u);
      EXPECT_EQ(place % 128, 0u);
      places.insert(place);
    }
    EXPECT_EQ(places.size(), blocks.size());
  }
}

TEST(VirtualMemoryTest, MoreThanThereAreAddressesIsAnError) {
  EXPECT_THROW(EmptyInVirtualMemory({int64_t{1} << 57}, DType::kU8), Error);
}

}  // namespace
}  // namespace tessera
