#include "sparse/cumsum.h"

#include <gtest/gtest.h>

#include <random>

#include "sparse/segments.h"

namespace tessera {
namespace {

using Longs = std::vector<int64_t>;
using Ints = std::vector<int32_t>;

TEST(CumsumTest, SmallOnes) {
  Context ctx;
  const Tensor t = Tensor::From(ctx, Ints{2, 0, 3});
  EXPECT_EQ(CompleteCumsum(ctx, t).ToVector<int32_t>(), (Ints{0, 2, 2, 5}));
  EXPECT_EQ(InclusiveCumsum(ctx, t).ToVector<int32_t>(), (Ints{2, 2, 5}));
  EXPECT_EQ(ExclusiveCumsum(ctx, t).ToVector<int32_t>(), (Ints{0, 2, 2}));
  EXPECT_EQ(LengthsFromOffsets(ctx, CompleteCumsum(ctx, t)).ToVector<int32_t>(), (Ints{2, 0, 3}));
}

TEST(CumsumTest, EmptyInputs) {
  Context ctx;
  const Tensor none = Tensor::Empty(ctx, {0}, DType::kI64);
  EXPECT_EQ(CompleteCumsum(ctx, none).ToVector<int64_t>(), Longs{0});
  EXPECT_EQ(InclusiveCumsum(ctx, none).numel(), 0);
  EXPECT_EQ(CompleteCumsum(ctx, Tensor::Empty(ctx, {3, 0}, DType::kI64)).ToVector<int64_t>(),
            (Longs{0, 0, 0}));
  EXPECT_EQ(LengthsRange(ctx, none).numel(), 0);
  EXPECT_EQ(OffsetsRange(ctx, none, 0).numel(), 0);
}

TEST(CumsumTest, RowsOfAMatrix) {
  Context ctx;
  const Tensor t = Tensor::From(ctx, {2, 3}, Longs{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(CompleteCumsum(ctx, t).ToVector<int64_t>(), (Longs{0, 1, 3, 6, 0, 4, 9, 15}));
  EXPECT_EQ(CompleteCumsum(ctx, t).shape(), (Shape{2, 4}));
  EXPECT_EQ(ExclusiveCumsum(ctx, t).ToVector<int64_t>(), (Longs{0, 1, 3, 0, 4, 9}));
}

TEST(CumsumTest, LongOnesWithAnyNumberOfThreads) {
  std::mt19937 random(1);
  for (int threads : {1, 3}) {
    Context ctx({.threads = threads});
    for (int64_t n : {65535, 65536, 65537, 200001}) {
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

TEST(CumsumTest, Ranges) {
  Context ctx;
  EXPECT_EQ(LengthsRange(ctx, Tensor::From(ctx, Ints{2, 0, 3})).ToVector<int32_t>(),
            (Ints{0, 1, 0, 1, 2}));
  EXPECT_EQ(OffsetsRange(ctx, Tensor::From(ctx, Longs{0, 2, 2}), 5).ToVector<int64_t>(),
            (Longs{0, 1, 0, 1, 2}));
}

TEST(CumsumTest, Errors) {
  Context ctx;
  EXPECT_THROW(CompleteCumsum(ctx, Tensor::Empty(ctx, {2})), Error);                     // f32
  EXPECT_THROW(CompleteCumsum(ctx, Tensor::Empty(ctx, {1, 1, 1}, DType::kI64)), Error);  // rank
  EXPECT_THROW(LengthsFromOffsets(ctx, Tensor::Empty(ctx, {0}, DType::kI64)), Error);    // empty
  EXPECT_THROW(LengthsRange(ctx, Tensor::From(ctx, Longs{1, -1})), Error);               // negative
  EXPECT_THROW(OffsetsRange(ctx, Tensor::From(ctx, Longs{0, 3, 2}), 5), Error);          // falls
  EXPECT_THROW(OffsetsRange(ctx, Tensor::From(ctx, Longs{0, 3}), 2), Error);  // passes the end
  EXPECT_THROW(OffsetsRange(ctx, Tensor::From(ctx, Longs{1}), 2), Error);     // first
}

TEST(SegmentSumTest, SumsEachSegment) {
  Context ctx;
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

TEST(SegmentSumTest, Errors) {
  Context ctx;
  const Tensor values = Tensor::Zeros(ctx, {6});
  EXPECT_THROW(SegmentSumCsr(ctx, 1, Tensor::From(ctx, Longs{0, 7}), values), Error);
  EXPECT_THROW(SegmentSumCsr(ctx, 4, Tensor::From(ctx, Longs{0, 2}), values), Error);
  EXPECT_THROW(SegmentSumCsr(ctx, 1, Tensor::From(ctx, Longs{3, 2}), values), Error);
  EXPECT_THROW(SegmentSumCsr(ctx, 1, Tensor::From(ctx, Longs{-1, 2}), values), Error);
  EXPECT_THROW(SegmentSumCsr(ctx, -1, Tensor::From(ctx, Longs{0, 1}), values), Error);
  EXPECT_THROW(SegmentSumCsr(ctx, 1, Tensor::Empty(ctx, {0}, DType::kI64), values), Error);
}

TEST(SegmentsTest, CheckedHostNumbers) {
  Context ctx;
  EXPECT_EQ(OffsetsOfLengths(Tensor::From(ctx, Ints{1, 2})), (Longs{0, 1, 3}));
  EXPECT_EQ(CheckedOffsets(Tensor::From(ctx, Ints{0, 2, 2}), "o"), (Longs{0, 2, 2}));
  EXPECT_THROW(OffsetsOfLengths(Tensor::From(ctx, Ints{1, -2})), Error);
  EXPECT_THROW(SumsOfLengths(Tensor::From(ctx, Ints{1, -2}), Longs{0, 2}), Error);
  EXPECT_THROW(CheckedOffsets(Tensor::From(ctx, Ints{0, 2, 1}), "o"), Error);
  EXPECT_THROW(CheckedOffsets(Tensor::From(ctx, Ints{1, 2}), "o"), Error);
}

}  // namespace
}  // namespace tessera
