#include "runtime/algorithms.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "runtime/device/dispatch.h"
#include "runtime/tensor.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using internal::SortPairs;
using ::testing::ElementsAre;

// The algorithms exist on a GPU alone.
class AlgorithmsTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (on_cpu()) GTEST_SKIP() << "SKIPPED: these algorithms run on a GPU only";
  }
  template <typename T>
  Tensor Upload(const std::vector<T>& values) {
    return Tensor::From(ctx(), values);
  }
};

TEST_P(AlgorithmsTest, SumsUpToEachPlace) {
  if constexpr (kWithCuda) {
    const Tensor in = Upload<int64_t>({3, 0, 4, 1}), out = Tensor::Empty(ctx(), {4}, DType::kI64);
    internal::InclusiveSum(ctx(), in.data<int64_t>(), out.data<int64_t>(), 4);
    EXPECT_THAT(out.ToVector<int64_t>(), ElementsAre(3, 3, 7, 8));
    internal::ExclusiveSum(ctx(), in.data<int64_t>(), out.data<int64_t>(), 4);
    EXPECT_THAT(out.ToVector<int64_t>(), ElementsAre(0, 3, 3, 7));
    internal::InclusiveMax(ctx(), in.data<int64_t>(), out.data<int64_t>(), 4);
    EXPECT_THAT(out.ToVector<int64_t>(), ElementsAre(3, 3, 4, 4));
    const Tensor narrow = Upload<int32_t>({5, 6});
    internal::InclusiveSum(ctx(), narrow.data<int32_t>(), narrow.data<int32_t>(), 2);
    EXPECT_THAT(narrow.ToVector<int32_t>(), ElementsAre(5, 11));
  }
}

// Keys travel as f32 tensors' bits: there is no unsigned dtype.
TEST_P(AlgorithmsTest, SortsPairsStablyByTheLowestBits) {
  if constexpr (kWithCuda) {
    std::mt19937 random(3);
    constexpr int64_t kN = 5000;
    std::vector<int32_t> keys(kN), places(kN);
    for (int32_t& key : keys) key = static_cast<int32_t>(random() % 700);
    std::iota(places.begin(), places.end(), 0);
    const Tensor k = Upload(keys), v = Upload(places), k2 = k.Clone(ctx()), v2 = v.Clone(ctx());
    const auto u32 = [](const Tensor& t) { return static_cast<uint32_t*>(t.raw_data()); };
    const auto sorted = SortPairs(ctx(), u32(k), u32(k2), u32(v), u32(v2), kN, 10);
    const Tensor result = Tensor::Borrow(sorted.values, {kN}, DType::kI32, nullptr, device());
    std::vector<int32_t> expected = places;
    std::stable_sort(expected.begin(), expected.end(), [&](int32_t a, int32_t b) {
      return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)];
    });
    ctx().Sync();
    EXPECT_EQ(result.To(ctx(), Device::Cpu()).ToVector<int32_t>(), expected);
  }
}

TEST_P(AlgorithmsTest, FindsRunsAndFlags) {
  if constexpr (kWithCuda) {
    const Tensor keys = Upload<int32_t>({2, 2, 5, 7, 7, 7});
    const Tensor starts = Tensor::Empty(ctx(), {6}, DType::kI32),
                 count = Tensor::Empty(ctx(), {1}, DType::kI32);
    internal::SelectRunStarts(ctx(), static_cast<const uint32_t*>(keys.raw_data()), 6,
                              static_cast<uint32_t*>(starts.raw_data()),
                              static_cast<uint32_t*>(count.raw_data()));
    EXPECT_THAT(count.ToVector<int32_t>(), ElementsAre(3));
    EXPECT_THAT(starts.Rows(0, 3).ToVector<int32_t>(), ElementsAre(0, 2, 3));
    const Tensor flags = Upload<uint8_t>({0, 1, 0, 9, 1}),
                 places = Tensor::Empty(ctx(), {5}, DType::kI64),
                 found = Tensor::Empty(ctx(), {1}, DType::kI64);
    internal::SelectFlagged(ctx(), flags.data<uint8_t>(), 5, places.data<int64_t>(),
                            found.data<int64_t>());
    EXPECT_EQ(ReadScalarSync(ctx(), found.data<int64_t>()), 3);
    EXPECT_THAT(places.Rows(0, 3).ToVector<int64_t>(), ElementsAre(1, 3, 4));
  }
}

TEST_P(AlgorithmsTest, NumbersRunsAndFlags) {
  if constexpr (kWithCuda) {
    const Tensor numbers = Tensor::Empty(ctx(), {6}, DType::kI32);
    const auto counts = static_cast<uint32_t*>(numbers.raw_data());
    const Tensor narrow = Upload<int32_t>({2, 2, 5, 7, 7, 7});
    internal::NumberRuns(ctx(), static_cast<const uint32_t*>(narrow.raw_data()), 6, counts);
    EXPECT_THAT(numbers.ToVector<int32_t>(), ElementsAre(1, 1, 2, 3, 3, 3));
    const Tensor wide = Upload<int64_t>({4, int64_t{4} << 32, int64_t{4} << 32, 1, 0, 0});
    internal::NumberRuns(ctx(), static_cast<const uint64_t*>(wide.raw_data()), 6, counts);
    EXPECT_THAT(numbers.ToVector<int32_t>(), ElementsAre(1, 2, 2, 3, 4, 4));
    const Tensor flags = Upload<uint8_t>({0, 1, 0, 9, 1, 0});
    internal::NumberFlagged(ctx(), flags.data<uint8_t>(), 6, counts);
    EXPECT_THAT(numbers.ToVector<int32_t>(), ElementsAre(0, 1, 1, 2, 3, 3));
  }
}

TESSERA_INSTANTIATE_DEVICES(AlgorithmsTest);

}  // namespace
}  // namespace tessera
