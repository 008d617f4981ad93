#include "runtime/base/size_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "runtime/tensor.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

constexpr int64_t kHuge = (int64_t{1} << 60) + 1;

TEST(SizeLimits, AProductIsExactOrAnError) {
  EXPECT_EQ(CheckedProduct("x", {}), 1);
  EXPECT_EQ(CheckedProduct("x", {3, 4, 5}), 60);
  EXPECT_EQ(CheckedProduct("x", {int64_t{1} << 31, int64_t{1} << 31}), int64_t{1} << 62);
  EXPECT_EQ(CheckedProduct("x", {kHuge, kHuge, 0}), 0);
  EXPECT_EQ(ErrorOf([] {
              CheckedProduct("table big: bytes", {kHuge, 4, 4});
            }),
            "table big: bytes: 1152921504606846977 * 4 * 4 is more than a number of 63 bits");
}

TEST(SizeLimits, ASumIsExactOrAnError) {
  EXPECT_EQ(CheckedSum("x", {3, 4}), 7);
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(CheckedSum("x", {most, 0}), most);
  EXPECT_THAT(ErrorOf([&] { CheckedSum("rows", {most, 1}); }), HasSubstr("rows: 92233720368547"));
}

TEST(SizeLimits, ATableBeyondAllMemoryIsRefusedByField) {
  CheckTableSize(1, 1, "table a");
  CheckTableSize(SizeLimits::kRows, 1, "table a");
  CheckTableSize(SizeLimits::kElements / SizeLimits::kDim, SizeLimits::kDim, "table a");
  const auto error = [](int64_t rows, int64_t dim) {
    return ErrorOf([&] { CheckTableSize(rows, dim, "table a"); });
  };
  EXPECT_EQ(error(0, 4), "table a: rows: expected an integer above 0, got 0");
  EXPECT_EQ(error(kHuge, 4),
            "table a: rows: expected at most 281474976710656, got 1152921504606846977");
  EXPECT_EQ(error(4, SizeLimits::kDim + 1), "table a: dim: expected at most 1048576, got 1048577");
  EXPECT_EQ(error(SizeLimits::kRows, 2),
            "table a: 281474976710656 rows of dim 2: expected at most 281474976710656 numbers in "
            "all");
}

TEST(SizeLimits, LayersAreFewAndOfPossibleSizes) {
  const std::vector<int64_t> good = {1, SizeLimits::kDim}, large = {1, SizeLimits::kDim + 1},
                             many(static_cast<size_t>(SizeLimits::kLayers) + 1, 1);
  CheckLayers(good, "arch");
  EXPECT_EQ(ErrorOf([&] { CheckLayers(large, "arch"); }),
            "arch[1]: expected at most 1048576, got 1048577");
  EXPECT_EQ(ErrorOf([&] { CheckLayers(many, "arch"); }),
            "arch: expected at most 1024 layers, got 1025");
}

TEST(SizeLimits, TensorsOfMoreThan63BitsAreErrors) {
  Context ctx({.threads = 1});
  EXPECT_THAT(ErrorOf([] {
                (void)Shape({kHuge, 16}).numel();
              }),
              HasSubstr("shape [1152921504606846977, 16]: more elements than"));
  EXPECT_EQ(Shape({kHuge, 16, 0}).numel(), 0);
  EXPECT_THAT(ErrorOf([&] { Tensor::Empty(ctx, {kHuge, 4}); }), HasSubstr("more bytes than"));
  EXPECT_THAT(ErrorOf([&] { Tensor::Empty(ctx, {kHuge, 16}); }), HasSubstr("more elements than"));
  EXPECT_THAT(ErrorOf([&] {
                Tensor::Borrow(nullptr, {kHuge, 4}, DType::kF32);
              }),
              HasSubstr("more bytes than"));
  const Tensor small = Tensor::Zeros(ctx, {4, 4});
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(ErrorOf([&] { (void)small.Narrow(0, 2, most); }), HasSubstr("do not fit"));
  EXPECT_THAT(ErrorOf([&] {
                (void)small.Reshape({int64_t{1} << 62, 4, -1});
              }),
              HasSubstr("Reshape of a tensor"));
  EXPECT_THAT(ErrorOf([&] { (void)small.Reinterpret(most - 3, {4}, DType::kU8); }),
              HasSubstr("Reinterpret of 64 bytes"));
  EXPECT_THAT(ErrorOf([&] { Tensor::Empty(ctx, {most / 4}); }), HasSubstr("host allocation"));
}

}  // namespace
}  // namespace tessera
