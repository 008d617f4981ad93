// Tensors whose rows have addresses from the start, and memory once they are asked for.
#include <gmock/gmock.h>

#include "runtime/device/device_properties.h"
#include "runtime/virtual_memory.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int64_t kMiB = 1 << 20, kColumns = 512, kRowBytes = kColumns * 4;
constexpr int64_t kSlack = 4 * kMiB;  // what a driver may keep for itself

class ReservedTensorTest : public testing::DeviceTest {
 protected:
  int64_t FreeBytes() {
    ctx().Sync();
    return FreeMemoryOf(device());
  }
  Tensor Ones(const ReservedTensor& reserved, int64_t begin, int64_t end) {
    const Tensor rows = reserved.Rows(end).Rows(begin, end);
    rows.Fill(ctx(), 1);
    return rows;
  }
};

TEST_P(ReservedTensorTest, RowsStayWhereTheyAreAsMoreAreAskedFor) {
  const ReservedTensor reserved(ctx(), {int64_t{1} << 30, kColumns}, DType::kF32);
  const Tensor first = Ones(reserved, 0, 100);
  for (const int64_t rows : {101, 5000, 5000, 40, 20000}) {
    const Tensor more = reserved.Rows(rows);
    EXPECT_EQ(more.shape(), (Shape{rows, kColumns}));
    EXPECT_EQ(more.raw_data(), first.raw_data());
  }
  Ones(reserved, 100, 20000);
  for (const int64_t row : {0, 99, 100, 1023, 1024, 19999})
    EXPECT_EQ(reserved.whole().Rows(row, row + 1).ToVector<float>(),
              std::vector<float>(kColumns, 1));
}

TEST_P(ReservedTensorTest, AGpuGivesMemoryForRowsThatAreAskedForAndHasItBack) {
  if (on_cpu()) GTEST_SKIP() << "SKIPPED: the host's pages come by a touch (virtual_memory_test)";
  const int64_t before = FreeBytes();
  {
    const ReservedTensor reserved(ctx(), {int64_t{1} << 30, kColumns}, DType::kF32);
    EXPECT_LE(before - FreeBytes(), kSlack);
    for (const int64_t mib : {1, 2, 3, 40, 41}) {
      (void)reserved.Rows(mib * kMiB / kRowBytes);
      EXPECT_GE(before - FreeBytes(), mib * kMiB);
      EXPECT_LE(before - FreeBytes(), (mib + mib / 8 + 4) * kMiB);
    }
    const ReservedTensor copy = reserved;  // a handle
    Ones(copy, 0, 41 * kMiB / kRowBytes);
  }
  EXPECT_LE(before - FreeBytes(), kSlack);
}

TEST_P(ReservedTensorTest, SmallOnesHaveTheirMemoryFromTheStart) {
  if (on_cpu()) GTEST_SKIP() << "SKIPPED: the host's pages come by a touch (virtual_memory_test)";
  const AllocatorStats before = ctx().allocator().stats();
  const ReservedTensor reserved(ctx(), {1000, 2}, DType::kF16);
  EXPECT_EQ(ctx().allocator().stats().live_bytes - before.live_bytes, 4000);
  EXPECT_EQ(reserved.Rows(7).shape(), (Shape{7, 2}));
  const ReservedTensor empty(ctx(), {0, 5}, DType::kF32);
  EXPECT_EQ(empty.Rows(0).numel(), 0);
}

TEST_P(ReservedTensorTest, AGpuWithoutMemoryForTheRowsSaysSo) {
  if (on_cpu()) GTEST_SKIP() << "SKIPPED: the host's memory is not to be exhausted by a test";
  const ReservedTensor reserved(ctx(), {int64_t{1} << 31, kColumns}, DType::kF32);
  const Tensor first = Ones(reserved, 0, 10);
  EXPECT_THAT([&] { (void)reserved.Rows(int64_t{1} << 31); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("out of memory on cuda:0: 4398044413952 bytes more for the first "
                                  "4398046511104 of 4398046511104 that are reserved; the device"),
                        HasSubstr("bytes free"))));
  EXPECT_EQ(first.ToVector<float>(), std::vector<float>(10 * kColumns, 1));
  EXPECT_NO_THROW(Ones(reserved, 10, 5000));
}

TESSERA_INSTANTIATE_DEVICES(ReservedTensorTest);

}  // namespace
}  // namespace tessera
