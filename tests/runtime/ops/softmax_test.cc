#include "runtime/ops/softmax.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/ops/linear.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/similarity.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using testing::ExpectCpusBits;
using testing::ExpectGradient;
using testing::RandomTensor;

class SoftmaxTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(SoftmaxTest);
class RowOpsTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(RowOpsTest);

// Lengths of the groups of two rows each.
TEST_P(SoftmaxTest, AgreesWithLoops) {
  Context ctx({.device = device(), .seed = 1});
  const Tensor x = RandomTensor(ctx, {8, 37}, 30);
  const std::vector<int64_t> lengths = {37, 1, 0, 20};
  for (const bool with_lengths : {false, true}) {
    const Tensor y =
        Softmax(ctx, x, with_lengths ? Tensor::From(ctx, lengths) : Tensor()).value().ToHost();
    const Tensor in = x.ToHost();
    for (int64_t r = 0; r < 8; ++r) {
      const int64_t n = with_lengths ? lengths[static_cast<size_t>(r / 2)] : 37;
      double sum = 0;
      for (int64_t i = 0; i < n; ++i)
        sum += std::exp(static_cast<double>(in.data<float>()[r * 37 + i]));
      for (int64_t i = 0; i < 37; ++i) {
        const double expected =
            i < n ? std::exp(static_cast<double>(in.data<float>()[r * 37 + i])) / sum : 0;
        EXPECT_NEAR(y.data<float>()[r * 37 + i], expected, 1e-6 * expected) << r << ", " << i;
      }
    }
  }
}

TEST_P(SoftmaxTest, Gradients) {
  Context ctx({.device = device(), .seed = 2});
  const Tensor lengths = Tensor::From<int64_t>(ctx, {3, 5, 0});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return Softmax(c, v[0]); },
                 {RandomTensor(ctx, {3, 2, 5})});
  ExpectGradient(ctx, [&](Context& c, const auto& v) { return Softmax(c, v[0], lengths); },
                 {RandomTensor(ctx, {3, 2, 5})});
}

// Large numbers overflow nothing; a row without columns is zeros.
TEST_P(SoftmaxTest, Edges) {
  Context ctx({.device = device()});
  const std::vector<float> y =
      Softmax(ctx, Tensor::From<float>(ctx, {2, 2}, {1e30f, 1e30f, -1e30f, 0}))
          .value()
          .ToVector<float>();
  EXPECT_EQ(y, (std::vector<float>{0.5f, 0.5f, 0, 1}));
  EXPECT_EQ(Softmax(ctx, Tensor::Zeros(ctx, {0, 3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(testing::ErrorOf([&] { Softmax(ctx, {}); }), "Softmax: the input is undefined");
  EXPECT_THROW(Softmax(ctx, Tensor::Zeros(ctx, {2, 0})), Error);
  EXPECT_THROW(Softmax(ctx, Tensor::Zeros(ctx, {2, 3}, DType::kF64)), Error);
  EXPECT_THROW(Softmax(ctx, Tensor::Zeros(ctx, {3, 2}), Tensor::From<int64_t>(ctx, {1, 1})), Error);
  EXPECT_THROW(Softmax(ctx, Tensor::Zeros(ctx, {2, 2}), Tensor::From<int32_t>(ctx, {1, 1})), Error);
  if (on_cpu()) {
    EXPECT_THROW(Softmax(ctx, Tensor::Zeros(ctx, {2, 2}), Tensor::From<int64_t>(ctx, {1, 3})),
                 Error);
  }
}

TEST_P(RowOpsTest, BiasAndScale) {
  Context ctx({.device = device(), .seed = 3});
  const Tensor x = Tensor::From<float>(ctx, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(AddBias(ctx, x, Tensor::From<float>(ctx, {10, 20, 30})).value().ToVector<float>(),
            (std::vector<float>{11, 22, 33, 14, 25, 36}));
  EXPECT_EQ(ScaleRows(ctx, x, Tensor::From<float>(ctx, {2, -1})).value().ToVector<float>(),
            (std::vector<float>{2, 4, 6, -4, -5, -6}));
  ExpectGradient(ctx, [](Context& c, const auto& v) { return AddBias(c, v[0], v[1]); },
                 {RandomTensor(ctx, {5, 3}), RandomTensor(ctx, {3})});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return ScaleRows(c, v[0], v[1]); },
                 {RandomTensor(ctx, {4, 35}), RandomTensor(ctx, {4})});
  EXPECT_THROW(AddBias(ctx, x, Tensor::Zeros(ctx, {2})), Error);
  EXPECT_THROW(ScaleRows(ctx, x, Tensor::Zeros(ctx, {3})), Error);
}

TEST_P(RowOpsTest, BatchMatMulOfATransposed) {
  Context ctx({.device = device(), .seed = 4});
  const Tensor a = RandomTensor(ctx, {3, 4, 5}), b = RandomTensor(ctx, {3, 6, 5});
  const Tensor y = BatchMatMul(ctx, a, b, /*transpose_b=*/true).value();
  ASSERT_EQ(y.shape(), (Shape{3, 4, 6}));
  for (int64_t i = 0; i < 3; ++i) {
    const Tensor left = a.Rows(i, i + 1).Reshape({4, 5}), right = b.Rows(i, i + 1).Reshape({6, 5});
    const std::vector<float> expected = MatMul(ctx, left, right, true).value().ToVector<float>(),
                             got = y.Rows(i, i + 1).ToVector<float>();
    for (size_t e = 0; e < got.size(); ++e) EXPECT_NEAR(got[e], expected[e], 1e-6);
  }
  ExpectGradient(ctx, [](Context& c, const auto& v) { return BatchMatMul(c, v[0], v[1], true); },
                 {RandomTensor(ctx, {2, 3, 4}), RandomTensor(ctx, {2, 5, 4})});
}

}  // namespace
}  // namespace tessera
