#include "runtime/ops/linear.h"

#include <gtest/gtest.h>

#include "runtime/ops/gemm.h"
#include "runtime/ops/matmul.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using testing::ExpectGradient;
using testing::RandomTensor;

double At(const Tensor& t, int64_t i, int64_t j) {
  return t.data<float>()[i * t.strides()[0] + j * t.strides()[1]];
}

void ExpectProduct(const Tensor& c, int64_t m, int64_t n, int64_t k,
                   const std::function<double(int64_t, int64_t)>& a,
                   const std::function<double(int64_t, int64_t)>& b) {
  ASSERT_EQ(c.shape(), (Shape{m, n}));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += a(i, l) * b(l, j);
        size += std::abs(a(i, l) * b(l, j));
      }
      ASSERT_NEAR(At(c, i, j), sum, 1e-6 * size + 1e-30) << i << ", " << j;
    }
}

TEST(GemmTest, AgreesWithTripleLoop) {
  Context ctx;
  const int64_t sizes[][3] = {{1, 1, 1},     {3, 5, 7},   {64, 64, 64}, {65, 17, 33},
                              {130, 1, 100}, {1, 300, 9}, {200, 9, 1},  {257, 31, 13},
                              {129, 258, 5}, {0, 4, 3},   {4, 0, 3},    {5, 6, 0}};
  for (const auto& [m, n, k] : sizes) {
    SCOPED_TRACE(::testing::Message() << m << "x" << n << "x" << k);
    const Tensor a = RandomTensor(ctx, {m, k}), b = RandomTensor(ctx, {k, n});
    const Tensor at = RandomTensor(ctx, {k, m}), bt = RandomTensor(ctx, {n, k});
    const auto at_a = [&](int64_t i, int64_t l) { return At(a, i, l); };
    const auto at_b = [&](int64_t l, int64_t j) { return At(b, l, j); };
    ExpectProduct(Gemm(ctx, GemmForm::kNN, a, b), m, n, k, at_a, at_b);
    ExpectProduct(Gemm(ctx, GemmForm::kNT, a, bt), m, n, k, at_a,
                  [&](int64_t l, int64_t j) { return At(bt, j, l); });
    ExpectProduct(
        Gemm(ctx, GemmForm::kTN, at, b), m, n, k,
        [&](int64_t i, int64_t l) { return At(at, l, i); }, at_b);
  }
}

TEST(GemmTest, TakesSlices) {
  Context ctx;
  const Tensor a = RandomTensor(ctx, {70, 20}).Narrow(1, 3, 9),
               b = RandomTensor(ctx, {40, 30}).Narrow(1, 5, 9);
  const Tensor c = Gemm(ctx, GemmForm::kNT, a, b);
  EXPECT_TRUE(SameBits(c, Gemm(ctx, GemmForm::kNT, a.Clone(ctx), b.Clone(ctx))));
}

TEST(GemmTest, SameBitsWithAnyNumberOfThreads) {
  Context one({.threads = 1}), three({.threads = 3});
  const Tensor x = RandomTensor(one, {333, 77}), w = RandomTensor(one, {150, 77}),
               dy = RandomTensor(one, {333, 150});
  EXPECT_TRUE(SameBits(Gemm(one, GemmForm::kNT, x, w), Gemm(three, GemmForm::kNT, x, w)));
  EXPECT_TRUE(SameBits(Gemm(one, GemmForm::kNN, dy, w), Gemm(three, GemmForm::kNN, dy, w)));
  EXPECT_TRUE(SameBits(Gemm(one, GemmForm::kTN, dy, x), Gemm(three, GemmForm::kTN, dy, x)));
  EXPECT_TRUE(SameBits(internal::ColumnSums(one, dy), internal::ColumnSums(three, dy)));
}

TEST(GemmTest, NamesShapesThatDoNotFit) {
  Context ctx;
  const Tensor a = RandomTensor(ctx, {2, 3}), b = RandomTensor(ctx, {4, 5});
  EXPECT_THROW(Gemm(ctx, GemmForm::kNN, a, b), Error);
  EXPECT_THROW(Gemm(ctx, GemmForm::kNN, a, RandomTensor(ctx, {3})), Error);
  EXPECT_THROW(Gemm(ctx, GemmForm::kNN, a, Tensor()), Error);
  EXPECT_THROW(Gemm(ctx, GemmForm::kNN, a, Tensor::Zeros(ctx, {3, 2}, DType::kF64)), Error);
  EXPECT_THROW(BatchGemm(ctx, GemmForm::kNN, a, b), Error);
}

TEST(ColumnSumsTest, AgreesWithLoop) {
  Context ctx;
  for (const Shape& shape : {Shape{0, 5}, Shape{1, 1}, Shape{200, 300}, Shape{64, 128}}) {
    const Tensor x = RandomTensor(ctx, shape), sums = internal::ColumnSums(ctx, x);
    for (int64_t j = 0; j < shape[1]; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < shape[0]; ++i) sum += At(x, i, j);
      EXPECT_NEAR(sums.data<float>()[j], sum, 1e-4);
    }
  }
}

TEST(LinearTest, AddsBiasAndClips) {
  Context ctx;
  const Tensor x = RandomTensor(ctx, {67, 5}), w = RandomTensor(ctx, {9, 5}),
               b = RandomTensor(ctx, {9});
  const Tensor plain = Linear(ctx, x, w, {}), biased = Linear(ctx, x, w, b),
               relu = LinearRelu(ctx, x, w, b);
  const Tensor relu_only = LinearRelu(ctx, x, w, {});
  for (int64_t i = 0; i < 67; ++i)
    for (int64_t j = 0; j < 9; ++j) {
      EXPECT_EQ(At(biased, i, j), static_cast<float>(At(plain, i, j)) + b.data<float>()[j]);
      EXPECT_EQ(At(relu, i, j), std::max(At(biased, i, j), 0.0));
      EXPECT_EQ(At(relu_only, i, j), std::max(At(plain, i, j), 0.0));
    }
}

// Away from the kink: x, w > 0 give y > 1, negated rows of w give y < −1.
TEST(LinearTest, Gradients) {
  Context ctx({.seed = 3});
  for (const auto& [b, n, k] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {3, 2, 4}, {66, 3, 2}}) {
    const std::vector<Tensor> inputs = {RandomTensor(ctx, {b, k}), RandomTensor(ctx, {n, k}),
                                        RandomTensor(ctx, {n})};
    ExpectGradient(
        ctx, [](Context& c, const auto& v) { return Linear(c, v[0], v[1], v[2]); }, inputs);
    ExpectGradient(ctx, [](Context& c, const auto& v) { return Linear(c, v[0], v[1], {}); },
                   {inputs[0], inputs[1]});
  }
  Tensor x = RandomTensor(ctx, {5, 4}), w = RandomTensor(ctx, {6, 4}),
         b = RandomTensor(ctx, {6}, 0.1);
  for (float& v : x.span<float>()) v = std::abs(v) + 0.5f;
  for (int64_t i = 0; i < 24; ++i)
    w.span<float>()[static_cast<size_t>(i)] = i / 4 % 2 ? 1.0f + i / 32.0f : -1.0f - i / 32.0f;
  ExpectGradient(ctx, [](Context& c, const auto& v) { return LinearRelu(c, v[0], v[1], v[2]); },
                 {x, w, b});
}

TEST(LinearTest, GradientsOfSlicesAndSlicedGradients) {
  Context ctx({.seed = 4});
  const Tensor wide = RandomTensor(ctx, {10, 8}), w = RandomTensor(ctx, {3, 4});
  const auto run = [&](const Tensor& x, const Tensor& dy) {
    Variable xv(x, true), wv(w, true);
    Tape tape(ctx);
    tape.Backward(LinearRelu(ctx, xv, wv, {}), dy);
    return std::pair(xv.grad(), wv.grad());
  };
  const Tensor x = wide.Narrow(1, 2, 4), dy = RandomTensor(ctx, {10, 5}).Narrow(1, 1, 3);
  const auto sliced = run(x, dy), whole = run(x.Clone(ctx), dy.Clone(ctx));
  EXPECT_TRUE(SameBits(sliced.first, whole.first));
  EXPECT_TRUE(SameBits(sliced.second, whole.second));
}

TEST(LinearTest, EmptyBatch) {
  Context ctx;
  Variable w(RandomTensor(ctx, {3, 4}), true), b(RandomTensor(ctx, {3}), true);
  Tape tape(ctx);
  const Variable y = LinearRelu(ctx, Tensor::Zeros(ctx, {0, 4}), w, b);
  EXPECT_EQ(y.shape(), (Shape{0, 3}));
  tape.Backward(y, Tensor::Zeros(ctx, {0, 3}));
  EXPECT_EQ(w.grad().ToVector<float>(), std::vector<float>(12, 0.0f));
  EXPECT_EQ(b.grad().ToVector<float>(), std::vector<float>(3, 0.0f));
}

TEST(LinearTest, Errors) {
  Context ctx;
  const Tensor x = RandomTensor(ctx, {2, 3}), w = RandomTensor(ctx, {4, 3});
  EXPECT_THROW(Linear(ctx, RandomTensor(ctx, {2, 5}), w, {}), Error);
  EXPECT_THROW(Linear(ctx, RandomTensor(ctx, {3}), w, {}), Error);
  EXPECT_THROW(Linear(ctx, x, {}, {}), Error);
  EXPECT_THROW(Linear(ctx, x, w, RandomTensor(ctx, {3})), Error);
  EXPECT_THROW(Linear(ctx, x, w, Tensor::Zeros(ctx, {4}, DType::kI32)), Error);
}

TEST(MatMulTest, Gradients) {
  Context ctx({.seed = 5});
  const Tensor a = RandomTensor(ctx, {5, 3}), b = RandomTensor(ctx, {3, 4}),
               bt = RandomTensor(ctx, {4, 3});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return MatMul(c, v[0], v[1]); }, {a, b});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return MatMul(c, v[0], v[1], true); },
                 {a, bt});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return MatMul(c, v[0], v[0], true); }, {a});
}

TEST(MatMulTest, BatchAgreesWithOneByOne) {
  Context ctx({.seed = 6});
  const Tensor a = RandomTensor(ctx, {19, 2, 3}), b = RandomTensor(ctx, {19, 3, 5});
  const Tensor c = BatchMatMul(ctx, a, b);
  for (int64_t i = 0; i < 19; ++i)
    EXPECT_TRUE(SameBits(
        c.Rows(i, i + 1).Reshape({2, 5}),
        MatMul(ctx, a.Rows(i, i + 1).Reshape({2, 3}), b.Rows(i, i + 1).Reshape({3, 5})).value()));
  ExpectGradient(ctx, [](Context& c2, const auto& v) { return BatchMatMul(c2, v[0], v[1]); },
                 {RandomTensor(ctx, {4, 2, 3}), RandomTensor(ctx, {4, 3, 2})});
}

}  // namespace
}  // namespace tessera
