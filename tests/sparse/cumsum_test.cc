#include "sparse/ops/cumsum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/numbers/lanes.h"
#include "sparse/ops/segments.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

class CumsumTest : public testing::DeviceTest {};
class SegmentSumTest : public testing::DeviceTest {};
class SegmentsTest : public testing::DeviceTest {};

using Longs = std::vector<int64_t>;
using Ints = std::vector<int32_t>;

TEST_P(CumsumTest, SmallOnes) {
  Context& ctx = this->ctx();
  const Tensor t = Tensor::From(ctx, Ints{2, 0, 3});
  EXPECT_EQ(CompleteCumsum(ctx, t).ToVector<int32_t>(), (Ints{0, 2, 2, 5}));
  EXPECT_EQ(InclusiveCumsum(ctx, t).ToVector<int32_t>(), (Ints{2, 2, 5}));
  EXPECT_EQ(ExclusiveCumsum(ctx, t).ToVector<int32_t>(), (Ints{0, 2, 2}));
  EXPECT_EQ(LengthsFromOffsets(ctx, CompleteCumsum(ctx, t)).ToVector<int32_t>(), (Ints{2, 0, 3}));
}

TEST_P(CumsumTest, EmptyInputs) {
  Context& ctx = this->ctx();
  const Tensor none = Tensor::Empty(ctx, {0}, DType::kI64);
  EXPECT_EQ(CompleteCumsum(ctx, none).ToVector<int64_t>(), Longs{0});
  EXPECT_EQ(InclusiveCumsum(ctx, none).numel(), 0);
  EXPECT_EQ(CompleteCumsum(ctx, Tensor::Empty(ctx, {3, 0}, DType::kI64)).ToVector<int64_t>(),
            (Longs{0, 0, 0}));
  EXPECT_EQ(LengthsRange(ctx, none).numel(), 0);
  EXPECT_EQ(OffsetsRange(ctx, none, 0).numel(), 0);
}

TEST_P(CumsumTest, RowsOfAMatrix) {
  Context& ctx = this->ctx();
  const Tensor t = Tensor::From(ctx, {2, 3}, Longs{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(CompleteCumsum(ctx, t).ToVector<int64_t>(), (Longs{0, 1, 3, 6, 0, 4, 9, 15}));
  EXPECT_EQ(CompleteCumsum(ctx, t).shape(), (Shape{2, 4}));
  EXPECT_EQ(ExclusiveCumsum(ctx, t).ToVector<int64_t>(), (Longs{0, 1, 3, 0, 4, 9}));
}

TEST_P(CumsumTest, LongOnesWithAnyNumberOfThreads) {
  std::mt19937 random(1);
  for (int threads : {1, 3}) {
    Context ctx({.device = device(), .threads = threads});
    for (int64_t n : {65535, 65536, 65537, 200001}) {
      if (!on_cpu()) n /= 16;
      Longs t(static_cast<size_t>(n)), expected;
      int64_t sum = 0;
      for (int64_t& x : t) {
        x = static_cast<int64_t>(random() % 100);
        expected.push_back(sum += x);
      }
      EXPECT_EQ(InclusiveCumsum(ctx, Tensor::From(ctx, t)).ToVector<int64_t>(), expected);
      EXPECT_EQ(CompleteCumsum(ctx, Tensor::From(ctx, t)).ToVector<int64_t>().back(), sum);
      EXPECT_EQ(
          LengthsFromOffsets(ctx, CompleteCumsum(ctx, Tensor::From(ctx, t))).ToVector<int64_t>(),
          t);
    }
  }
}

TEST_P(CumsumTest, Ranges) {
  Context& ctx = this->ctx();
  EXPECT_EQ(LengthsRange(ctx, Tensor::From(ctx, Ints{2, 0, 3})).ToVector<int32_t>(),
            (Ints{0, 1, 0, 1, 2}));
  EXPECT_EQ(OffsetsRange(ctx, Tensor::From(ctx, Longs{0, 2, 2}), 5).ToVector<int64_t>(),
            (Longs{0, 1, 0, 1, 2}));
}

TEST_P(CumsumTest, Errors) {
  Context& ctx = this->ctx();
  EXPECT_THROW(CompleteCumsum(ctx, Tensor::Empty(ctx, {2})), Error);                     // f32
  EXPECT_THROW(CompleteCumsum(ctx, Tensor::Empty(ctx, {1, 1, 1}, DType::kI64)), Error);  // rank
  EXPECT_THROW(LengthsFromOffsets(ctx, Tensor::Empty(ctx, {0}, DType::kI64)), Error);    // empty
  EXPECT_THROW(LengthsRange(ctx, Tensor::From(ctx, Longs{1, -1})), Error);               // negative
  if (!on_cpu()) return;  // a device does not look at what follows
  EXPECT_THROW(LengthsFromOffsets(ctx, Tensor::From(ctx, Longs{0, 3, 1})), Error);  // falls
  EXPECT_THROW(OffsetsRange(ctx, Tensor::From(ctx, Longs{0, 3, 2}), 5), Error);     // falls
  EXPECT_THROW(OffsetsRange(ctx, Tensor::From(ctx, Longs{0, 3}), 2), Error);  // passes the end
  EXPECT_THROW(OffsetsRange(ctx, Tensor::From(ctx, Longs{1}), 2), Error);     // first
  EXPECT_THAT([&] { OffsetsRange(ctx, Tensor::Empty(ctx, {0}, DType::kI64), 3); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr(
                  "OffsetsRange: range_size without an offset: expected 0, got 3")));
}

TEST_P(SegmentSumTest, SumsEachSegment) {
  Context& ctx = this->ctx();
  const Tensor values = Tensor::From(ctx, std::vector<float>{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(SegmentSumCsr(ctx, 2, Tensor::From(ctx, Ints{0, 1, 1, 3}), values).ToVector<float>(),
            (std::vector<float>{3, 0, 18}));
  EXPECT_EQ(SegmentSumCsr(ctx, 1, Tensor::From(ctx, Longs{1, 3}), values.To(ctx, DType::kI32))
                .ToVector<int32_t>(),
            Ints{5});
  EXPECT_EQ(SegmentSumCsr(ctx, 1, Tensor::From(ctx, Longs{0, 6}), values.To(ctx, DType::kF16))
                .To(ctx, DType::kF32)
                .ToVector<float>(),
            std::vector<float>{21});
  EXPECT_EQ(SegmentSumCsr(ctx, 1, Tensor::From(ctx, Longs{0}), values).numel(), 0);
}

TEST_P(SegmentSumTest, Errors) {
  Context& ctx = this->ctx();
  const Tensor values = Tensor::Zeros(ctx, {6});
  EXPECT_THROW(SegmentSumCsr(ctx, -1, Tensor::From(ctx, Longs{0, 1}), values), Error);
  EXPECT_THROW(SegmentSumCsr(ctx, 1, Tensor::Empty(ctx, {0}, DType::kI64), values), Error);
  for (const auto& [batch, offsets] :
       {std::pair{1, Longs{0, 7}}, {4, {0, 2}}, {1, {3, 2}}, {1, {-1, 2}}}) {
    const auto sum = [&, &batch = batch, &offsets = offsets] {
      SegmentSumCsr(ctx, batch, Tensor::From(ctx, offsets), values);
      ctx.Sync();
    };
    if (on_cpu())
      EXPECT_THROW(sum(), Error);
    else
      sum();  // adds up what there is
  }
}

// Every number of elements around a warp's, in the order of runtime/numbers/lanes.h.
TEST_P(SegmentSumTest, AddsInLanes) {
  Context& ctx = this->ctx();
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Longs lengths = {0, 1, 31, 32, 33, 64, 100, 321};
  const Longs offsets = HostOffsets(lengths);
  std::vector<float> values(static_cast<size_t>(offsets.back())), expected;
  for (float& v : values) v = uniform(random);
  for (size_t s = 0; s < lengths.size(); ++s) {
    float lane[kLanes] = {};
    for (int64_t i = 0; i < lengths[s]; ++i)
      lane[i % kLanes] += values[static_cast<size_t>(offsets[s] + i)];
    expected.push_back(FoldLanes(lane));
  }
  EXPECT_EQ(SegmentSumCsr(ctx, 1, Tensor::From(ctx, offsets), Tensor::From(ctx, values))
                .ToVector<float>(),
            expected);
}

TEST_P(SegmentsTest, CheckedNumbers) {
  Context& ctx = this->ctx();
  EXPECT_EQ(ToInt64(SegmentsOfLengths(ctx, Tensor::From(ctx, Ints{1, 2})).offsets),
            (Longs{0, 1, 3}));
  EXPECT_EQ(SegmentsOfLengths(ctx, Tensor::From(ctx, Longs{1, 2})).rows, 3);
  EXPECT_EQ(CheckedOffsets(Tensor::From(ctx, Ints{0, 2, 2}), "o"), (Longs{0, 2, 2}));
  EXPECT_THROW(SegmentsOfLengths(ctx, Tensor::From(ctx, Ints{1, -2})), Error);
  EXPECT_THROW(SegmentsOfLengths(ctx, Tensor::From(ctx, Ints{1, 3}), 2), Error);
  const int64_t half = int64_t{1} << 62;
  if (on_cpu()) {
    EXPECT_THROW(SegmentsOfLengths(ctx, Tensor::From(ctx, Longs{half, half})), Error);
  }
  EXPECT_THROW(CheckedOffsets(Tensor::From(ctx, Ints{0, 2, 1}), "o"), Error);
  EXPECT_THROW(CheckedOffsets(Tensor::From(ctx, Ints{1, 2}), "o"), Error);
}

TESSERA_INSTANTIATE_DEVICES(CumsumTest);
TESSERA_INSTANTIATE_DEVICES(SegmentSumTest);
TESSERA_INSTANTIATE_DEVICES(SegmentsTest);

}  // namespace
}  // namespace tessera
