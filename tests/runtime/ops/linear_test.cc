#include "runtime/ops/linear.h"

#include <gtest/gtest.h>

#include "runtime/ops/gemm.h"
#include "runtime/ops/matmul.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using testing::ExpectGradient;
using testing::RandomTensor;

class GemmTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(GemmTest);
class ColumnSumsTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(ColumnSumsTest);
class LinearTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(LinearTest);
class MatMulTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(MatMulTest);

Tensor OnHost(Context& ctx, const Tensor& t) { return t.To(ctx, Device::Cpu()); }

// An element of a matrix on the host.
double At(const Tensor& t, int64_t i, int64_t j) {
  return static_cast<const float*>(t.raw_data())[i * t.strides()[0] + j * t.strides()[1]];
}

// Expects [m, n] sums of k products a(i, l)·b(l, j).
template <typename A, typename B>
void ExpectProduct(Context& ctx, const Tensor& product, int64_t m, int64_t n, int64_t k, const A& a,
                   const B& b) {
  ASSERT_EQ(product.shape(), (Shape{m, n}));
  const Tensor c = OnHost(ctx, product);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int64_t l = 0; l < k; ++l) {
        const double term = a(i, l) * b(l, j);
        sum += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(At(c, i, j), sum, 1e-6 * size + 1e-30) << i << ", " << j;
    }
}

void ExpectAllForms(Context& ctx, int64_t m, int64_t n, int64_t k) {
  SCOPED_TRACE(::testing::Message() << m << "x" << n << "x" << k);
  const Tensor a = RandomTensor(ctx, {m, k}), b = RandomTensor(ctx, {k, n}),
               at = RandomTensor(ctx, {k, m}), bt = RandomTensor(ctx, {n, k});
  const Tensor ha = OnHost(ctx, a), hb = OnHost(ctx, b), hat = OnHost(ctx, at),
               hbt = OnHost(ctx, bt);
  const auto of_a = [&](int64_t i, int64_t l) { return At(ha, i, l); };
  const auto of_b = [&](int64_t l, int64_t j) { return At(hb, l, j); };
  ExpectProduct(ctx, Gemm(ctx, GemmForm::kNN, a, b), m, n, k, of_a, of_b);
  ExpectProduct(ctx, Gemm(ctx, GemmForm::kNT, a, bt), m, n, k, of_a,
                [&](int64_t l, int64_t j) { return At(hbt, j, l); });
  ExpectProduct(
      ctx, Gemm(ctx, GemmForm::kTN, at, b), m, n, k,
      [&](int64_t i, int64_t l) { return At(hat, l, i); }, of_b);
}

// On CUDA, some of these sums are made in pieces, of small tiles and of large ones.
TEST_P(GemmTest, AgreesWithTripleLoop) {
  Context ctx({.device = device()});
  const int64_t sizes[][3] = {{1, 1, 1},      {3, 5, 7},     {64, 64, 64},  {65, 17, 33},
                              {130, 1, 100},  {1, 300, 9},   {200, 9, 1},   {257, 31, 13},
                              {129, 258, 5},  {0, 4, 3},     {4, 0, 3},     {5, 6, 0},
                              {10, 12, 1000}, {68, 4, 1028}, {65, 70, 4100}};
  for (const auto& [m, n, k] : sizes) ExpectAllForms(ctx, m, n, k);
}

// Single tiles and many, one piece of a sum and several, blocks that make whole sums and pieces.
TEST_P(GemmTest, PortableProductsHaveTheCpusBits) {
  const int64_t sizes[][3] = {{1, 1, 1},      {65, 17, 33}, {130, 1, 300},  {1, 300, 129},
                              {10, 12, 1000}, {5, 6, 0},    {65, 70, 4100}, {700, 300, 300}};
  const auto products = [&](Device on) {
    Context ctx({.device = on, .seed = 4, .dense_products = DenseProducts::kPortable});
    std::vector<std::vector<float>> all;
    for (const auto& [m, n, k] : sizes) {
      const Tensor a = RandomTensor(ctx, {m, k}), b = RandomTensor(ctx, {k, n}),
                   at = RandomTensor(ctx, {k, m}), bt = RandomTensor(ctx, {n, k}),
                   bias = RandomTensor(ctx, {n});
      all.push_back(Gemm(ctx, GemmForm::kNN, a, b).ToVector<float>());
      all.push_back(LinearRelu(ctx, a, bt, bias).value().ToVector<float>());
      const int64_t part = k / 2 / kGemmPiece * kGemmPiece;
      const Tensor first = GemmOverBatch(ctx, at.Rows(0, part), b.Rows(0, part), Tensor());
      all.push_back(GemmOverBatch(ctx, at.Rows(part, k), b.Rows(part, k), first).ToVector<float>());
    }
    return all;
  };
  EXPECT_EQ(products(device()), products(Device::Cpu()));
}

TEST_P(GemmTest, TakesSlices) {
  Context ctx({.device = device()});
  const Tensor a = RandomTensor(ctx, {70, 20}).Narrow(1, 3, 9),
               b = RandomTensor(ctx, {40, 30}).Narrow(1, 5, 9);
  const Tensor c = Gemm(ctx, GemmForm::kNT, a, b);
  EXPECT_TRUE(SameBits(c, Gemm(ctx, GemmForm::kNT, a.Clone(ctx), b.Clone(ctx))));
}

TEST(GemmOnCpuTest, SameBitsWithAnyNumberOfThreads) {
  Context one({.threads = 1}), three({.threads = 3});
  const Tensor x = RandomTensor(one, {333, 77}), w = RandomTensor(one, {150, 77}),
               dy = RandomTensor(one, {333, 150});
  EXPECT_TRUE(SameBits(Gemm(one, GemmForm::kNT, x, w), Gemm(three, GemmForm::kNT, x, w)));
  EXPECT_TRUE(SameBits(Gemm(one, GemmForm::kNN, dy, w), Gemm(three, GemmForm::kNN, dy, w)));
  EXPECT_TRUE(SameBits(Gemm(one, GemmForm::kTN, dy, x), Gemm(three, GemmForm::kTN, dy, x)));
  EXPECT_TRUE(SameBits(internal::ColumnSums(one, dy), internal::ColumnSums(three, dy)));
}

TEST_P(GemmTest, NamesShapesThatDoNotFit) {
  Context ctx({.device = device()});
  const Tensor a = RandomTensor(ctx, {2, 3}), b = RandomTensor(ctx, {4, 5});
  EXPECT_THROW(Gemm(ctx, GemmForm::kNN, a, b), Error);
  EXPECT_THROW(Gemm(ctx, GemmForm::kNN, a, RandomTensor(ctx, {3})), Error);
  EXPECT_THROW(Gemm(ctx, GemmForm::kNN, a, Tensor()), Error);
  EXPECT_THROW(Gemm(ctx, GemmForm::kNN, a, Tensor::Zeros(ctx, {3, 2}, DType::kF64)), Error);
  EXPECT_THROW(BatchGemm(ctx, GemmForm::kNN, a, b), Error);
}

TEST_P(ColumnSumsTest, AgreesWithLoop) {
  Context ctx({.device = device()});
  for (const Shape& shape : {Shape{0, 5}, Shape{1, 1}, Shape{200, 300}, Shape{64, 128}}) {
    const Tensor random = RandomTensor(ctx, shape), x = OnHost(ctx, random);
    const std::vector<float> sums = internal::ColumnSums(ctx, random).ToVector<float>();
    for (int64_t j = 0; j < shape[1]; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < shape[0]; ++i) sum += At(x, i, j);
      EXPECT_NEAR(sums[static_cast<size_t>(j)], sum, 1e-4);
    }
  }
}

TEST_P(ColumnSumsTest, HasTheCpusBits) {
  const auto sums = [](Device on) {
    Context ctx({.device = on, .seed = 1});
    return internal::ColumnSums(ctx, RandomTensor(ctx, {333, 150}).Narrow(1, 3, 141))
        .ToVector<float>();
  };
  EXPECT_EQ(sums(device()), sums(Device::Cpu()));
}

TEST_P(LinearTest, AddsBiasAndClips) {
  Context ctx({.device = device()});
  const Tensor x = RandomTensor(ctx, {67, 5}), w = RandomTensor(ctx, {9, 5}),
               b = RandomTensor(ctx, {9});
  const Tensor plain = OnHost(ctx, Linear(ctx, x, w, {})),
               biased = OnHost(ctx, Linear(ctx, x, w, b)),
               relu = OnHost(ctx, LinearRelu(ctx, x, w, b)),
               relu_only = OnHost(ctx, LinearRelu(ctx, x, w, {}));
  const std::vector<float> bias = b.ToVector<float>();
  for (int64_t i = 0; i < 67; ++i)
    for (int64_t j = 0; j < 9; ++j) {
      EXPECT_EQ(At(biased, i, j),
                static_cast<float>(At(plain, i, j)) + bias[static_cast<size_t>(j)]);
      EXPECT_EQ(At(relu, i, j), std::max(At(biased, i, j), 0.0));
      EXPECT_EQ(At(relu_only, i, j), std::max(At(plain, i, j), 0.0));
    }
}

// Away from the kink: x, w > 0 give y > 1, negated rows of w give y < −1.
TEST_P(LinearTest, Gradients) {
  Context ctx({.device = device(), .seed = 3});
  for (const auto& [b, n, k] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {3, 2, 4}, {66, 3, 2}}) {
    const std::vector<Tensor> inputs = {RandomTensor(ctx, {b, k}), RandomTensor(ctx, {n, k}),
                                        RandomTensor(ctx, {n})};
    ExpectGradient(
        ctx, [](Context& c, const auto& v) { return Linear(c, v[0], v[1], v[2]); }, inputs);
    ExpectGradient(ctx, [](Context& c, const auto& v) { return Linear(c, v[0], v[1], {}); },
                   {inputs[0], inputs[1]});
  }
  const Tensor x = testing::MapTensor(ctx, RandomTensor(ctx, {5, 4}),
                                      [](float v) { return std::abs(v) + 0.5f; }),
               b = RandomTensor(ctx, {6}, 0.1);
  std::vector<float> w;
  for (int i = 0; i < 24; ++i)
    w.push_back(i / 4 % 2 ? 1.0f + static_cast<float>(i) / 32 : -1.0f - static_cast<float>(i) / 32);
  ExpectGradient(ctx, [](Context& c, const auto& v) { return LinearRelu(c, v[0], v[1], v[2]); },
                 {x, Tensor::From(ctx, {6, 4}, w), b});
}

TEST_P(LinearTest, GradientsOfSlicesAndSlicedGradients) {
  Context ctx({.device = device(), .seed = 4});
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

TEST_P(LinearTest, EmptyBatch) {
  Context ctx({.device = device()});
  Variable w(RandomTensor(ctx, {3, 4}), true), b(RandomTensor(ctx, {3}), true);
  Tape tape(ctx);
  const Variable y = LinearRelu(ctx, Tensor::Zeros(ctx, {0, 4}), w, b);
  EXPECT_EQ(y.shape(), (Shape{0, 3}));
  tape.Backward(y, Tensor::Zeros(ctx, {0, 3}));
  EXPECT_EQ(w.grad().ToVector<float>(), std::vector<float>(12, 0.0f));
  EXPECT_EQ(b.grad().ToVector<float>(), std::vector<float>(3, 0.0f));
}

TEST_P(LinearTest, Errors) {
  Context ctx({.device = device()});
  const Tensor x = RandomTensor(ctx, {2, 3}), w = RandomTensor(ctx, {4, 3});
  EXPECT_THROW(Linear(ctx, RandomTensor(ctx, {2, 5}), w, {}), Error);
  EXPECT_EQ(testing::ErrorOf([&] { Linear(ctx, RandomTensor(ctx, {3}), w, {}); }),
            "Linear: x [3] of f32; expected a matrix of f32");
  EXPECT_THROW(Linear(ctx, x, {}, {}), Error);
  EXPECT_THROW(Linear(ctx, x, w, RandomTensor(ctx, {3})), Error);
  EXPECT_THROW(Linear(ctx, x, w, Tensor::Zeros(ctx, {4}, DType::kI32)), Error);
  EXPECT_EQ(testing::ErrorOf([&] { MatMul(ctx, x, w); }),
            "MatMul: a [2, 3] and b [4, 3]; expected [M, K] and [K, N]");
  EXPECT_EQ(testing::ErrorOf([&] { BatchMatMul(ctx, {}, w, /*transpose_b=*/true); }),
            "BatchMatMul: a undefined and b [4, 3]; expected [B, M, K] and [B, N, K]");
}

TEST_P(MatMulTest, Gradients) {
  Context ctx({.device = device(), .seed = 5});
  const Tensor a = RandomTensor(ctx, {5, 3}), b = RandomTensor(ctx, {3, 4}),
               bt = RandomTensor(ctx, {4, 3});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return MatMul(c, v[0], v[1]); }, {a, b});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return MatMul(c, v[0], v[1], true); },
                 {a, bt});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return MatMul(c, v[0], v[0], true); }, {a});
}

TEST_P(MatMulTest, BatchAgreesWithOneByOne) {
  Context ctx({.device = device(), .seed = 6});
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
