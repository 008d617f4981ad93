#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/ops/shaping.h"
#include "sparse/ids/unique.h"
#include "sparse/ops/permute.h"
#include "sparse/ops/select.h"
#include "tests/sparse/random_kjt.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"
#include "tests/testing/finite_differences.h"
#include "tests/testing/isa_levels.h"

namespace tessera {
namespace {

class PermuteTest : public testing::DeviceTest {};
class SelectTest : public testing::DeviceTest {};
class UniqueTest : public testing::DeviceTest {};

using Longs = std::vector<int64_t>;
using Ints = std::vector<int32_t>;
using Variables = std::vector<Variable>;

// The segments of `values`, as lists.
std::vector<Longs> Segments(const Longs& values, const Longs& lengths) {
  std::vector<Longs> segments;
  size_t at = 0;
  for (int64_t n : lengths) {
    segments.emplace_back(values.begin() + static_cast<int64_t>(at),
                          values.begin() + static_cast<int64_t>(at) + n);
    at += static_cast<size_t>(n);
  }
  return segments;
}

Longs Iota(int64_t n) {
  Longs numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST_P(PermuteTest, SegmentsMoveWhole) {
  std::mt19937 random(29);
  for (int threads : {1, 3}) {
    Context ctx({.device = device(), .threads = threads});
    for (const auto& [rows, bags, longest] :
         {std::tuple{5, 3, 4}, {1, 1, 0}, {4, 0, 2}, {3, on_cpu() ? 700 : 90, 60}}) {
      const Longs lengths = testing::RandomLengths(random, rows * bags, longest);
      const Longs values = Iota(HostOffsets(lengths).back());
      Longs permute;
      for (int i = 0; i < 7; ++i)
        permute.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(rows)));
      const PermutedSparseData got =
          Permute2dSparseData(ctx, Tensor::From(ctx, permute).To(ctx, DType::kI32),
                              Tensor::From(ctx, {rows, bags}, lengths), Tensor::From(ctx, values),
                              Tensor::From(ctx, values).To(ctx, DType::kF32));
      const std::vector<Longs> before = Segments(values, lengths);
      std::vector<Longs> expected;
      for (int64_t p : permute)
        for (int64_t b = 0; b < bags; ++b)
          expected.push_back(before[static_cast<size_t>(p * bags + b)]);
      EXPECT_EQ(Segments(ToInt64(got.values), ToInt64(got.lengths)), expected);
      EXPECT_EQ(got.lengths.shape(), (Shape{7, bags}));
      EXPECT_TRUE(SameBits(got.weights, got.values.To(ctx, DType::kF32)));
    }
  }
}

TEST_P(PermuteTest, OneDimensionalThereAndBack) {
  Context& ctx = this->ctx();
  std::mt19937 random(31);
  const Tensor lengths = Tensor::From(ctx, testing::RandomLengths(random, 50, 5));
  const Tensor values = Tensor::From(ctx, Iota(HostOffsets(ToInt64(lengths)).back()));
  Longs order = Iota(50);
  std::shuffle(order.begin(), order.end(), random);
  const Tensor permute = Tensor::From(ctx, order);
  const PermutedSparseData there = Permute1dSparseData(ctx, permute, lengths, values);
  const PermutedSparseData back =
      Permute1dSparseData(ctx, InvertPermute(ctx, permute), there.lengths, there.values);
  EXPECT_TRUE(SameBits(back.values, values));
  EXPECT_TRUE(SameBits(back.lengths, lengths));
  EXPECT_FALSE(back.weights.defined());
}

TEST_P(PermuteTest, ExpandedPermutationMovesTheSameElements) {
  Context& ctx = this->ctx();
  const Tensor lengths = Tensor::From(ctx, Longs{2, 0, 3, 1}),
               permute = Tensor::From(ctx, Longs{2, 3, 0, 1});
  const Tensor values = Tensor::From(ctx, Iota(6));
  const PermutedSparseData moved = Permute1dSparseData(ctx, permute, lengths, values);
  const Tensor expanded =
      ExpandIntoJaggedPermute(ctx, permute, Tensor::From(ctx, HostOffsets(ToInt64(lengths))),
                              Tensor::From(ctx, HostOffsets(ToInt64(moved.lengths))), 6);
  EXPECT_EQ(ToInt64(expanded), ToInt64(moved.values));  // the values are their own places
}

TEST_P(PermuteTest, Gradients) {
  Context& ctx = this->ctx();
  const Tensor lengths = Tensor::From(ctx, {3, 2}, Longs{1, 0, 2, 1, 0, 1}),
               permute = Tensor::From(ctx, Ints{1, 0, 1});
  const Tensor ids = Tensor::From(ctx, Iota(5));
  testing::ExpectGradient(ctx,
                          [&](Context& c, const Variables& in) {
                            return Permute2dSparseData(c, permute, lengths, ids, in[0]).weights;
                          },
                          {testing::RandomTensor(ctx, {5})});
  testing::ExpectGradient(ctx,
                          [&](Context& c, const Variables& in) {
                            return PermuteSequenceEmbeddings(c, permute, lengths, in[0]).embeddings;
                          },
                          {testing::RandomTensor(ctx, {5, 3})});
}

// Rows of every width, at every alignment, in tiles that begin and end inside segments.
TEST_P(PermuteTest, RowsOfAnyWidth) {
  Context& ctx = this->ctx();
  std::mt19937 random(43);
  for (DType dtype : {DType::kU8, DType::kF16, DType::kF32, DType::kI64})
    for (int64_t width : {1, 3, 8}) {
      const Longs lengths = testing::RandomLengths(random, 40, 60);
      const int64_t rows = HostOffsets(lengths).back();
      const Tensor all = testing::RandomTensor(ctx, {rows + 1, width}, 100).To(ctx, dtype),
                   values = all.Rows(1, rows + 1);
      Longs picks;
      for (int i = 0; i < 30; ++i) picks.push_back(static_cast<int64_t>(random() % 40));
      const Tensor got =
          Permute1dSparseData(ctx, Tensor::From(ctx, picks), Tensor::From(ctx, lengths), values)
              .values;
      const Longs at = HostOffsets(lengths);
      std::vector<Variable> expected;
      for (int64_t p : picks)
        expected.push_back(values.Rows(at[static_cast<size_t>(p)], at[static_cast<size_t>(p) + 1]));
      EXPECT_TRUE(SameBits(got, Concat(ctx, expected, 0))) << ToString(dtype) << " " << width;
    }
}

TEST_P(PermuteTest, Errors) {
  Context& ctx = this->ctx();
  const Tensor lengths = Tensor::From(ctx, Longs{1, 2}), values = Tensor::From(ctx, Iota(3));
  const Tensor permute = Tensor::From(ctx, Longs{1, 0});
  EXPECT_THROW(Permute1dSparseData(ctx, Tensor::From(ctx, Longs{2}), lengths, values), Error);
  EXPECT_THROW(Permute1dSparseData(ctx, Tensor::From(ctx, Longs{-1}), lengths, values), Error);
  EXPECT_THROW(Permute1dSparseData(ctx, permute, Tensor::From(ctx, Longs{1, -2}), values), Error);
  EXPECT_THROW(Permute1dSparseData(ctx, permute, lengths, Tensor::From(ctx, Iota(4))), Error);
  EXPECT_THROW(Permute1dSparseData(ctx, permute, lengths, values, Tensor::Zeros(ctx, {2})), Error);
  EXPECT_THROW(Permute2dSparseData(ctx, permute, lengths, values), Error);
  EXPECT_THROW(Permute1dSparseData(ctx, permute, lengths.Reshape({1, 2}), values), Error);
  EXPECT_EQ(testing::ErrorOf([&] {
              Permute1dSparseData(ctx, permute.Reshape({2, 1}), lengths, values);
            }),
            "Permute1dSparseData: permute [2, 1]; expected [n]");
  EXPECT_EQ(testing::ErrorOf([&] {
              Permute1dSparseData(ctx, permute, lengths, Tensor::From(ctx, Iota(4)));
            }).substr(0, 50),
            "Permute1dSparseData: lengths sum to 3 for 4 values");
  EXPECT_EQ(testing::ErrorOf([&] { Permute2dSparseData(ctx, permute, lengths, values); }),
            "Permute2dSparseData: lengths [2]; expected [T, B]");
  const Tensor offsets = Tensor::From(ctx, Longs{0, 1, 3}),
               moved = Tensor::From(ctx, Longs{0, 2, 3});
  EXPECT_EQ(ToInt64(ExpandIntoJaggedPermute(ctx, permute, offsets, moved, 3)), (Longs{1, 2, 0}));
  EXPECT_EQ(testing::ErrorOf([&] {
              ExpandIntoJaggedPermute(ctx, permute, offsets, moved.To(ctx, DType::kI32), 3);
            }),
            "ExpandIntoJaggedPermute: output_offset [3] of i32; expected [3] of i64, one more than "
            "permute has");
  if (!on_cpu()) {  // what is outside begins at 0, or is left out
    const Tensor outside = Tensor::From(ctx, Longs{5, -1});
    EXPECT_EQ(ToInt64(ExpandIntoJaggedPermute(ctx, outside, offsets, moved, 4)),
              (Longs{0, 1, 0, 1}));
    EXPECT_EQ(ToInt64(InvertPermute(ctx, Tensor::From(ctx, Longs{0, 2}))), (Longs{0, -1}));
    return;
  }
  EXPECT_THROW(InvertPermute(ctx, Tensor::From(ctx, Longs{0, 0})), Error);
  EXPECT_THROW(InvertPermute(ctx, Tensor::From(ctx, Longs{0, 2})), Error);
  EXPECT_THROW(ExpandIntoJaggedPermute(ctx, permute, offsets, moved, 4), Error);
  EXPECT_THROW(ExpandIntoJaggedPermute(ctx, permute, offsets, offsets, 3), Error);
}

TEST_P(SelectTest, JaggedIndexSelect) {
  Context& ctx = this->ctx();
  const Jagged got =
      JaggedIndexSelect(ctx, Tensor::From(ctx, {4, 1}, Longs{10, 20, 30, 40}),
                        Tensor::From(ctx, Ints{1, 2, 0, 1}), Tensor::From(ctx, Longs{1, 3, 1, 2}));
  EXPECT_EQ(got.values.value().ToVector<int64_t>(), (Longs{20, 30, 40, 20, 30}));
  EXPECT_EQ(got.lengths.ToVector<int32_t>(), (Ints{2, 1, 2, 0}));
  testing::ExpectGradient(ctx,
                          [](Context& c, const Variables& in) {
                            return JaggedIndexSelect(c, in[0], Tensor::From(c, Longs{1, 2, 0, 1}),
                                                     Tensor::From(c, Longs{1, 3, 1, 2, 1}))
                                .values;
                          },
                          {testing::RandomTensor(ctx, {4, 2})});
}

TEST_P(SelectTest, KeyedIndexSelectTakesTheSameBagsOfEveryKey) {
  Context& ctx = this->ctx();
  const Tensor lengths = Tensor::From(ctx, Longs{1, 2, 0, 1}),
               values = Tensor::From(ctx, Longs{10, 20, 21, 40});
  const KeyedJaggedSelection got = KeyedJaggedIndexSelectDim1(
      ctx, values, lengths, {}, Tensor::From(ctx, Longs{1, 1, 0}), 2, values.To(ctx, DType::kF32));
  EXPECT_EQ(ToInt64(got.lengths), (Longs{2, 2, 1, 1, 1, 0}));
  EXPECT_EQ(ToInt64(got.values), (Longs{20, 21, 20, 21, 10, 40, 40}));
  EXPECT_TRUE(SameBits(got.weights, got.values.value().To(ctx, DType::kF32)));
}

TEST_P(SelectTest, MasksAndTruncation) {
  Context& ctx = this->ctx();
  std::mt19937 random(37);
  for (int64_t segments : {0, 1, 40}) {
    const Longs lengths = testing::RandomLengths(random, segments, 6),
                values = Iota(HostOffsets(lengths).back());
    std::vector<bool> mask;
    std::vector<Longs> masked, cut;
    for (const Longs& segment : Segments(values, lengths)) {
      masked.emplace_back();
      cut.emplace_back(
          segment.begin(),
          segment.begin() + std::min<int64_t>(2, static_cast<int64_t>(segment.size())));
      for (int64_t v : segment) {
        mask.push_back(random() % 2);
        if (mask.back()) masked.back().push_back(v);
      }
    }
    const Tensor data = Tensor::From(ctx, values), of = Tensor::From(ctx, lengths);
    const Jagged got = MaskedSelectJagged1d(ctx, data, of, Tensor::From(ctx, mask));
    EXPECT_EQ(Segments(ToInt64(got.values), ToInt64(got.lengths)), masked);
    Longs flat;
    for (const Longs& segment : cut) flat.insert(flat.end(), segment.begin(), segment.end());
    EXPECT_EQ(ToInt64(Jagged1dToTruncatedValues(ctx, data, of, 2)), flat);
    EXPECT_EQ(Jagged1dToTruncatedValues(ctx, data, of, 0).value().numel(), 0);
  }
  const Tensor lengths = Tensor::From(ctx, Longs{2, 0, 3}),
               mask = Tensor::From(ctx, std::vector<bool>{true, false, true, true, false});
  testing::ExpectGradients(ctx,
                           [&](Context& c, const Variables& in) {
                             return Variables{MaskedSelectJagged1d(c, in[0], lengths, mask).values,
                                              Jagged1dToTruncatedValues(c, in[0], lengths, 1)};
                           },
                           {testing::RandomTensor(ctx, {5})});
}

TEST_P(SelectTest, Errors) {
  Context& ctx = this->ctx();
  const Tensor lengths = Tensor::From(ctx, Longs{1, 2}), values = Tensor::From(ctx, Iota(3)),
               one = Tensor::From(ctx, Longs{1});
  EXPECT_THROW(JaggedIndexSelect(ctx, values, lengths, Tensor::From(ctx, Longs{2})), Error);
  EXPECT_EQ(
      testing::ErrorOf([&] { JaggedIndexSelect(ctx, values, one, Tensor::From(ctx, Longs{0})); }),
      "JaggedIndexSelect: lengths sum to 1 for 3 values");
  EXPECT_THROW(KeyedJaggedIndexSelectDim1(ctx, values, lengths, {}, Tensor::From(ctx, Longs{2}), 2),
               Error);
  EXPECT_THROW(KeyedJaggedIndexSelectDim1(ctx, values, lengths, {}, one, 3), Error);
  EXPECT_THROW(KeyedJaggedIndexSelectDim1(ctx, values, lengths, {}, one, 0), Error);
  if (on_cpu()) {
    EXPECT_THROW(
        KeyedJaggedIndexSelectDim1(ctx, values, lengths, Tensor::From(ctx, Longs{0, 2, 3}), one, 2),
        Error);
  }
  EXPECT_THROW(
      MaskedSelectJagged1d(ctx, values, lengths, Tensor::From(ctx, std::vector<bool>{true})),
      Error);
  EXPECT_THROW(Jagged1dToTruncatedValues(ctx, values, lengths, -1), Error);
  EXPECT_EQ(ToInt64(Jagged1dToTruncatedValues(ctx, values, lengths, INT64_MAX)), Iota(3));
}

TEST_P(UniqueTest, EveryIdOncePerGroup) {
  std::mt19937_64 random(41);
  for (int threads : {1, 3}) {
    Context ctx({.device = device(), .threads = threads});
    for (int shift : {0, 30, 62}) {
      for (DType dtype : {DType::kI32, DType::kI64}) {
        Longs ids;
        for (int i = 0; i < 500; ++i)
          ids.push_back((static_cast<int64_t>(random() % 40) - 20)
                        << (dtype == DType::kI32 ? 0 : shift));
        const Longs at = {0, 0, 200, 500};
        const UniqueIds got = UniquePerGroup(ctx, Tensor::From(ctx, ids).To(ctx, dtype), at);
        Longs expected, counts, offsets = {0};
        for (size_t g = 0; g + 1 < at.size(); ++g) {
          std::map<int64_t, int64_t> seen;
          for (int64_t i = at[g]; i < at[g + 1]; ++i) ++seen[ids[static_cast<size_t>(i)]];
          for (const auto& [id, count] : seen) {
            expected.push_back(id);
            counts.push_back(count);
          }
          offsets.push_back(static_cast<int64_t>(expected.size()));
        }
        EXPECT_EQ(ToInt64(got.values), expected);
        EXPECT_EQ(ToInt64(got.counts), counts);
        EXPECT_EQ(ToInt64(got.group_offsets), offsets);
        const Longs inverse = ToInt64(got.inverse);
        for (size_t i = 0; i < ids.size(); ++i)
          EXPECT_EQ(expected[static_cast<size_t>(inverse[i])], ids[i]);
      }
    }
  }
}

// Groups of all sizes and ranges: few ids, many in a narrow range, many strewn over a wide one.
TEST_P(UniqueTest, NarrowAndWideRanges) {
  std::mt19937_64 random(43);
  Context& ctx = this->ctx();
  for (const IsaLevel level : testing::IsaLevels()) {
    const testing::ScopedIsa isa(level);
    for (const int64_t n : {1, 63, 64, 65, 1000})
      for (const int shift : {0, 1, 5, 12, 40})
        for (const DType dtype : {DType::kI32, DType::kI64}) {
          if (shift == 40 && dtype == DType::kI32) continue;
          Longs ids(static_cast<size_t>(n));
          for (int64_t& id : ids)
            id = (static_cast<int64_t>(random() % static_cast<uint64_t>(n)) - n / 2) << shift;
          const UniqueIds got =
              Unique(ctx, Tensor::From(ctx, ids).To(ctx, dtype), /*counts=*/shift % 2 == 0);
          Longs expected = ids;
          std::sort(expected.begin(), expected.end());
          expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
          EXPECT_EQ(ToInt64(got.values), expected);
          const Longs inverse = ToInt64(got.inverse);
          for (size_t i = 0; i < ids.size(); ++i)
            EXPECT_EQ(expected[static_cast<size_t>(inverse[i])], ids[i]);
          EXPECT_EQ(got.counts.defined(), shift % 2 == 0);
          if (!got.counts.defined()) continue;
          Longs counts(expected.size());
          for (const int64_t u : inverse) ++counts[static_cast<size_t>(u)];
          EXPECT_EQ(ToInt64(got.counts), counts);
        }
  }
}

TEST_P(UniqueTest, IdsAtEitherEndOfTheirType) {
  Context& ctx = this->ctx();
  const std::vector<IsaLevel> levels =
      on_cpu() ? testing::IsaLevels() : std::vector{IsaLevel::kBaseline};
  for (const IsaLevel level : levels) {
    const testing::ScopedIsa isa(level);
    for (const int64_t first : {INT64_MAX - 99, INT64_MIN}) {
      Longs ids(100);
      std::iota(ids.begin(), ids.end(), first);
      const Longs backward(ids.rbegin(), ids.rend());
      const UniqueIds got = Unique(ctx, Tensor::From(ctx, backward));
      EXPECT_EQ(ToInt64(got.values), ids);
      Longs inverse(100);
      std::iota(inverse.rbegin(), inverse.rend(), 0);
      EXPECT_EQ(ToInt64(got.inverse), inverse);
    }
  }
}

TEST_P(UniqueTest, EmptyAndErrors) {
  Context& ctx = this->ctx();
  EXPECT_EQ(Unique(ctx, Tensor::Empty(ctx, {0}, DType::kI64)).values.numel(), 0);
  EXPECT_THROW(Unique(ctx, Tensor::Zeros(ctx, {2})), Error);
  const Tensor ids = Tensor::From(ctx, Longs{1, 2});
  EXPECT_THROW(UniquePerGroup(ctx, ids, Longs{0, 1}), Error);
  EXPECT_THROW(UniquePerGroup(ctx, ids, Longs{1, 2}), Error);
  EXPECT_THROW(UniquePerGroup(ctx, ids, Longs{0, 2, 1, 2}), Error);
  EXPECT_THROW(UniquePerGroup(ctx, ids, Longs{}), Error);
}

TESSERA_INSTANTIATE_DEVICES(PermuteTest);
TESSERA_INSTANTIATE_DEVICES(SelectTest);
TESSERA_INSTANTIATE_DEVICES(UniqueTest);

}  // namespace
}  // namespace tessera
