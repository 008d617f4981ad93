// The bits of portable products: those of the plain loop that runtime/ops/gemm.h describes.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "runtime/ops/gemm.h"
#include "runtime/ops/linear.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"
#include "tests/testing/finite_differences.h"
#include "tests/testing/isa_levels.h"

namespace tessera {
namespace {

using testing::IsaLevels;
using testing::RandomTensor;
using testing::ScopedIsa;

float At(const Tensor& t, int64_t i, int64_t j) {
  return t.data<float>()[i * t.strides()[0] + j * t.strides()[1]];
}

// Term l of the sums: A's for row i, B's for column j.
float LeftTerm(GemmForm form, const Tensor& a, int64_t i, int64_t l) {
  return form == GemmForm::kTN ? At(a, l, i) : At(a, i, l);
}
float RightTerm(GemmForm form, const Tensor& b, int64_t l, int64_t j) {
  return form == GemmForm::kNT ? At(b, j, l) : At(b, l, j);
}

// C of m × n elements, after `so_far` (empty: nothing).
std::vector<float> PlainLoop(GemmForm form, const Tensor& a, const Tensor& b, int64_t m, int64_t n,
                             int64_t k, std::vector<float> so_far = {}) {
  std::vector<float> c;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = so_far.empty() ? 0.0f : so_far[static_cast<size_t>(i * n + j)];
      for (int64_t begin = 0; begin < k; begin += kGemmPiece) {
        float piece = 0;
        for (int64_t l = begin; l < std::min(k, begin + kGemmPiece); ++l)
          piece = std::fma(LeftTerm(form, a, i, l), RightTerm(form, b, l, j), piece);
        sum = begin == 0 && so_far.empty() ? piece : sum + piece;
      }
      c.push_back(sum);
    }
  return c;
}

struct Size {
  int64_t m, n, k;
};

// Single rows and columns, tiles and panels that are full, and one more or less than full; one
// piece of a sum and several.
const Size kSizes[] = {{1, 1, 1},
                       {1, 16, 5},
                       {5, 1, 300},
                       {90, 1, 257},
                       {1, 100, 129},
                       {100, 3, 40},
                       {3, 100, 40},
                       {8, 48, 128},
                       {16, 24, 256},
                       {17, 49, 129},
                       {80, 96, 64},
                       {81, 97, 127},
                       {161, 33, 130},
                       {7, 5, 0},
                       {200, 15, 31},
                       {0, 4, 3},
                       {4, 0, 3},
                       {33, 2, 513},
                       // Several pieces of a sum and panels that threads pack together, and columns
                       // that are too many for the second-level cache.
                       {90, 110, 400},
                       {3, 700, 400},
                       // One row whose packs of columns are left over, and sums of few terms.
                       {1, 255, 300},
                       {1, 17, 16},
                       {90, 239, 1},
                       {7, 48, 2},
                       {130, 33, 3},
                       {9, 100, 4}};

Tensor Left(Context& ctx, GemmForm form, const Size& s) {
  return RandomTensor(ctx, form == GemmForm::kTN ? Shape{s.k, s.m} : Shape{s.m, s.k});
}
Tensor Right(Context& ctx, GemmForm form, const Size& s) {
  return RandomTensor(ctx, form == GemmForm::kNT ? Shape{s.n, s.k} : Shape{s.k, s.n});
}

constexpr GemmForm kForms[] = {GemmForm::kNN, GemmForm::kNT, GemmForm::kTN};

TEST(PortableGemmTest, HasTheBitsOfAPlainLoop) {
  for (const int threads : {1, 3}) {
    Context ctx({.threads = threads, .dense_products = DenseProducts::kPortable});
    for (const IsaLevel level : IsaLevels()) {
      const ScopedIsa isa(level);
      for (const GemmForm form : kForms)
        for (const Size& s : kSizes) {
          const Tensor a = Left(ctx, form, s), b = Right(ctx, form, s);
          ASSERT_EQ(Gemm(ctx, form, a, b).ToVector<float>(), PlainLoop(form, a, b, s.m, s.n, s.k))
              << ToString(level) << ", form " << static_cast<int>(form) << ": " << s.m << "x" << s.n
              << "x" << s.k << ", " << threads << " threads";
        }
    }
  }
}

TEST(PortableGemmTest, SlicesHaveTheBitsOfAPlainLoop) {
  Context ctx({.threads = 2});
  const Tensor wide_a = RandomTensor(ctx, {90, 1024}).Narrow(1, 7, 150),
               wide_b = RandomTensor(ctx, {60, 400}).Narrow(1, 3, 150);
  for (const IsaLevel level : IsaLevels()) {
    const ScopedIsa isa(level);
    EXPECT_EQ(Gemm(ctx, GemmForm::kNT, wide_a, wide_b).ToVector<float>(),
              PlainLoop(GemmForm::kNT, wide_a, wide_b, 90, 60, 150));
  }
}

// Sums that are halfway between two floats but for a last bit far below, that cancel, that are
// denormal, infinite or no number.
TEST(PortableGemmTest, RoundsEachTermOnce) {
  const float numbers[] = {1.0f,
                           -1.0f,
                           0.0f,
                           1.0f + 0x1p-23f,
                           1.0f - 0x1p-24f,
                           0x1p-24f,
                           0x1p-25f,
                           -0x1p-24f,
                           0x1.fffffep0f,
                           3.0f,
                           0x1p12f + 0x1p-11f,
                           0x1p-75f,
                           0x1.234566p-70f,
                           0x1p-149f,
                           0x1.fffffep127f,
                           1e30f,
                           INFINITY};
  constexpr auto kCount = static_cast<int64_t>(std::size(numbers));
  Context ctx({.threads = 1});
  std::vector<float> left, right;  // rows (1, x) and columns (z, y): z + x·y
  for (const float x : numbers) left.insert(left.end(), {1.0f, x});
  for (const float y : numbers)
    for (const float z : numbers) right.insert(right.end(), {z, y});
  const Tensor a = Tensor::From(ctx, {kCount, 2}, left),
               b = Tensor::From(ctx, {kCount * kCount, 2}, right);
  const std::vector<float> expected = PlainLoop(GemmForm::kNT, a, b, kCount, kCount * kCount, 2);
  for (const IsaLevel level : IsaLevels()) {
    const ScopedIsa isa(level);
    const std::vector<float> got = Gemm(ctx, GemmForm::kNT, a, b).ToVector<float>();
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i])))
          << ToString(level) << ": element " << i << " is " << got[i] << ", not " << expected[i];
  }
}

// Rows of one batch that arrive in several calls give the bits of one call, if all but the last
// are whole pieces of the sum.
TEST(PortableGemmTest, SumsOverABatchGoOn) {
  Context ctx({.threads = 2});
  const Tensor wide = RandomTensor(ctx, {600, 70}), b = RandomTensor(ctx, {600, 50});
  for (const Tensor& a : {wide, wide.Narrow(1, 3, 1)})
    for (const IsaLevel level : IsaLevels()) {
      const ScopedIsa isa(level);
      for (const int64_t last : {600, 514}) {
        Tensor sum;
        for (const auto& [begin, end] :
             {std::pair<int64_t, int64_t>{0, 128}, {128, 512}, {512, last}})
          sum = GemmOverBatch(ctx, a.Rows(begin, end), b.Rows(begin, end), sum);
        EXPECT_EQ(sum.ToVector<float>(), PlainLoop(GemmForm::kTN, a, b, a.dim(1), 50, last));
      }
    }
}

TEST(PortableGemmTest, BatchesHaveTheBitsOfAPlainLoop) {
  Context ctx({.threads = 2});
  const Tensor a = RandomTensor(ctx, {19, 27, 140}), b = RandomTensor(ctx, {19, 27, 140});
  const auto one = [](const Tensor& t, int64_t i) { return t.Rows(i, i + 1).Reshape({27, 140}); };
  for (const IsaLevel level : IsaLevels()) {
    const ScopedIsa isa(level);
    const Tensor c = BatchGemm(ctx, GemmForm::kNT, a, b);
    for (int64_t i = 0; i < 19; ++i)
      EXPECT_EQ(c.Rows(i, i + 1).ToVector<float>(),
                PlainLoop(GemmForm::kNT, one(a, i), one(b, i), 27, 27, 140));
  }
}

// A row of a result does not depend on the rows beside it.
TEST(PortableGemmTest, RowsDoNotDependOnTheirBatch) {
  Context ctx({.threads = 2});
  const Tensor x = RandomTensor(ctx, {300, 130});
  for (const int64_t n : {1, 3, 16, 64, 200}) {
    const Tensor w = RandomTensor(ctx, {n, 130}), bias = RandomTensor(ctx, {n});
    for (const IsaLevel level : IsaLevels()) {
      const ScopedIsa isa(level);
      const Tensor together = LinearRelu(ctx, x, w, bias).value();
      for (const int64_t size : {1, 7, 100})
        for (int64_t begin = 0; begin + size <= 300; begin += 100)
          EXPECT_TRUE(SameBits(LinearRelu(ctx, x.Rows(begin, begin + size), w, bias).value(),
                               together.Rows(begin, begin + size)))
              << n << " columns, rows " << begin << " to " << begin + size;
    }
  }
}

TEST(PortableGemmTest, WeightsThatArePackedGiveTheSameBits) {
  Context ctx({.threads = 2});
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{1, 130}, {5, 7}, {100, 129}, {48, 0}}) {
    const Tensor w = RandomTensor(ctx, {n, k}), packed = w.Clone(ctx);
    KeepPacked(ctx, packed);
    EXPECT_NE(packed.packed_panels(), nullptr);
    for (const IsaLevel level : IsaLevels()) {  // panels of another level are not read
      const ScopedIsa isa(level);
      for (const int64_t rows : {1, 3, 90}) {
        const Tensor x = RandomTensor(ctx, {rows, k});
        EXPECT_TRUE(SameBits(Gemm(ctx, GemmForm::kNT, x, packed), Gemm(ctx, GemmForm::kNT, x, w)));
        if (n == 5 && k == 7) {  // rows of it are another matrix
          EXPECT_TRUE(SameBits(Gemm(ctx, GemmForm::kNT, x, packed.Rows(1, 4)),
                               Gemm(ctx, GemmForm::kNT, x, w.Rows(1, 4))));
        }
      }
    }
  }
}

TEST(PortableGemmTest, ACpuRefusesProductsOfTensorCores) {
  for (const DenseProducts products : {DenseProducts::kTf32, DenseProducts::kBf16}) {
    const std::string error = testing::ErrorOf([&] { Context ctx({.dense_products = products}); });
    const std::string expected = Format(
        "dense products {} on device cpu: they need a GPU; a CPU "
        "makes portable and library ones",
        ToString(products));
    EXPECT_NE(error.find(expected), std::string::npos) << error;
  }
}

TEST(PortableGemmTest, EigenAgreesButForRounding) {
  Context portable({.threads = 2}), eigen({.dense_products = DenseProducts::kLibrary});
  EXPECT_EQ(portable.dense_products(), DenseProducts::kPortable);
  EXPECT_EQ(eigen.dense_products(), DenseProducts::kLibrary);
  for (const GemmForm form : kForms)
    for (const Size& s : kSizes) {
      const Tensor a = Left(portable, form, s), b = Right(portable, form, s);
      const std::vector<float> ours = Gemm(portable, form, a, b).ToVector<float>(),
                               theirs = Gemm(eigen, form, a, b).ToVector<float>();
      ASSERT_EQ(ours.size(), theirs.size());
      for (size_t i = 0; i < ours.size(); ++i)
        ASSERT_NEAR(ours[i], theirs[i], 1e-6 * static_cast<double>(s.k + 1));
    }
}

}  // namespace
}  // namespace tessera
