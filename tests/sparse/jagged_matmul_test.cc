#include "sparse/jagged/jagged_matmul.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sparse/jagged/jagged_softmax.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

class JaggedMatmulTest : public testing::DeviceTest {};
class JaggedSoftmaxTest : public testing::DeviceTest {};

using Longs = std::vector<int64_t>;
using Floats = std::vector<float>;
using Variables = std::vector<Variable>;
using testing::ExpectGradient;
using testing::RandomTensor;

const Longs kOffsets = {0, 2, 2, 5};

float At(const Floats& numbers, int64_t i) { return numbers[static_cast<size_t>(i)]; }

TEST_P(JaggedMatmulTest, ProductsOfEachBag) {
  Context& ctx = this->ctx();
  const Tensor offsets = Tensor::From(ctx, kOffsets), x = RandomTensor(ctx, {5, 3}),
               w = RandomTensor(ctx, {5, 2}), y = RandomTensor(ctx, {3, 3, 2});
  const Tensor outer = JaggedJaggedBmm(ctx, x, w, offsets, 3),
               rows = JaggedDenseBmm(ctx, x, offsets, y, 3);
  const Floats xs = x.ToVector<float>(), ws = w.ToVector<float>(), ys = y.ToVector<float>(),
               outers = outer.ToVector<float>(), rowss = rows.ToVector<float>();
  for (size_t b = 0; b < 3; ++b)
    for (int64_t m = 0; m < 3; ++m)
      for (int64_t k = 0; k < 2; ++k) {
        double sum = 0;
        for (int64_t r = kOffsets[b]; r < kOffsets[b + 1]; ++r)
          sum += static_cast<double>(At(xs, r * 3 + m)) * At(ws, r * 2 + k);
        EXPECT_NEAR(At(outers, (static_cast<int64_t>(b) * 3 + m) * 2 + k), sum, 1e-5);
      }
  for (size_t b = 0; b < 3; ++b)
    for (int64_t r = kOffsets[b]; r < kOffsets[b + 1]; ++r)
      for (int64_t m = 0; m < 2; ++m) {
        double sum = 0;
        for (int64_t k = 0; k < 3; ++k)
          sum += static_cast<double>(At(xs, r * 3 + k)) *
                 At(ys, (static_cast<int64_t>(b) * 3 + k) * 2 + m);
        EXPECT_NEAR(At(rowss, r * 2 + m), sum, 1e-5);
      }
}

TEST_P(JaggedMatmulTest, VectorsTimesBags) {
  Context& ctx = this->ctx();
  const int64_t heads = 2, dim = 3, slots = 2;
  const Tensor v = RandomTensor(ctx, {3 * heads, slots}), a = RandomTensor(ctx, {5, heads * dim});
  const Tensor y = BatchedDenseVecJagged2dMul(ctx, v, a, Tensor::From(ctx, kOffsets));
  const Floats vs = v.ToVector<float>(), as = a.ToVector<float>(), ys = y.ToVector<float>();
  for (int64_t b = 0; b < 3; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t d = 0; d < dim; ++d) {
        double sum = 0;
        const int64_t first = kOffsets[static_cast<size_t>(b)],
                      rows = kOffsets[static_cast<size_t>(b) + 1] - first;
        for (int64_t l = 0; l < std::min(slots, rows); ++l)
          sum += static_cast<double>(At(vs, (b * heads + h) * slots + l)) *
                 At(as, (first + l) * heads * dim + h * dim + d);
        EXPECT_NEAR(At(ys, (b * heads + h) * dim + d), sum, 1e-5);
      }
}

TEST_P(JaggedSoftmaxTest, SumsToOneInEachBag) {
  Context& ctx = this->ctx();
  const Tensor x = RandomTensor(ctx, {5, 2}, 100),
               y = JaggedSoftmax(ctx, x, Tensor::From(ctx, kOffsets), 3);
  const Floats xs = x.ToVector<float>(), ys = y.ToVector<float>();
  for (size_t b = 0; b < 3; ++b)
    for (int64_t d = 0; d < 2 && kOffsets[b] < kOffsets[b + 1]; ++d) {
      double largest = -INFINITY, sum = 0;
      for (int64_t r = kOffsets[b]; r < kOffsets[b + 1]; ++r)
        largest = std::max<double>(largest, At(xs, r * 2 + d));
      for (int64_t r = kOffsets[b]; r < kOffsets[b + 1]; ++r)
        sum += std::exp(At(xs, r * 2 + d) - largest);
      for (int64_t r = kOffsets[b]; r < kOffsets[b + 1]; ++r)
        EXPECT_NEAR(At(ys, r * 2 + d), std::exp(At(xs, r * 2 + d) - largest) / sum, 1e-6);
    }
}

TEST_P(JaggedMatmulTest, Gradients) {
  Context& ctx = this->ctx();
  const Tensor offsets = Tensor::From(ctx, kOffsets);
  ExpectGradient(
      ctx,
      [&](Context& c, const Variables& in) { return JaggedJaggedBmm(c, in[0], in[1], offsets, 3); },
      {RandomTensor(ctx, {5, 3}), RandomTensor(ctx, {5, 2})});
  ExpectGradient(
      ctx,
      [&](Context& c, const Variables& in) { return JaggedDenseBmm(c, in[0], offsets, in[1], 3); },
      {RandomTensor(ctx, {5, 3}), RandomTensor(ctx, {3, 3, 2})});
  for (int64_t slots : {1, 4})
    ExpectGradient(ctx,
                   [&](Context& c, const Variables& in) {
                     return BatchedDenseVecJagged2dMul(c, in[0], in[1], offsets);
                   },
                   {RandomTensor(ctx, {6, slots}), RandomTensor(ctx, {5, 4})});
  ExpectGradient(
      ctx, [&](Context& c, const Variables& in) { return JaggedSoftmax(c, in[0], offsets, 3); },
      {RandomTensor(ctx, {5, 2})});
}

// Bags of more rows and columns than a tile has, and gradients too.
TEST_P(JaggedMatmulTest, SameBitsAsOnTheCpu) {
  const Longs offsets = {0, 40, 40, 57};
  const auto check = [&](const testing::DifferentiableFunction& fn,
                         const std::vector<Shape>& shapes) {
    testing::ExpectCpusBits(device(), fn, shapes);
  };
  check(
      [&](Context& c, const Variables& in) {
        return Variables{JaggedJaggedBmm(c, in[0], in[1], Tensor::From(c, offsets), 40)};
      },
      {{57, 19}, {57, 5}});
  check(
      [&](Context& c, const Variables& in) {
        return Variables{JaggedDenseBmm(c, in[0], Tensor::From(c, offsets), in[1], 40)};
      },
      {{57, 35}, {3, 35, 18}});
  check(
      [&](Context& c, const Variables& in) {
        return Variables{BatchedDenseVecJagged2dMul(c, in[0], in[1], Tensor::From(c, offsets))};
      },
      {{6, 20}, {57, 34}});
}

// Bags longer than a warp. Sums run in the same order; e^x may differ in its last bit on a GPU.
TEST_P(JaggedSoftmaxTest, HasTheCpusBitsOnLongBags) {
  const Longs offsets = {0, 70, 70, 71, 104};
  const auto run = [&](Device on) {
    Context c({.device = on, .seed = 3});
    const Tensor x = RandomTensor(c, {104, 3}, 4);
    return JaggedSoftmax(c, x, Tensor::From(c, offsets), 70).value().ToVector<float>();
  };
  EXPECT_EQ(run(device()), run(Device::Cpu()));
}

TEST_P(JaggedMatmulTest, EmptyAndErrors) {
  Context& ctx = this->ctx();
  const Tensor offsets = Tensor::From(ctx, kOffsets), none = Tensor::From(ctx, Longs{0});
  const Tensor x = Tensor::Zeros(ctx, {5, 3}), y = Tensor::Zeros(ctx, {3, 3, 2});
  EXPECT_EQ(
      JaggedJaggedBmm(ctx, Tensor::Zeros(ctx, {0, 3}), Tensor::Zeros(ctx, {0, 2}), none, 1).shape(),
      (Shape{0, 3, 2}));
  EXPECT_EQ(
      BatchedDenseVecJagged2dMul(ctx, Tensor::Zeros(ctx, {0, 2}), Tensor::Zeros(ctx, {0, 4}), none)
          .dim(0),
      0);
  EXPECT_EQ(JaggedSoftmax(ctx, Tensor::Zeros(ctx, {0, 4}), none, 1).dim(0), 0);
  EXPECT_EQ(testing::ErrorOf([&] {
              JaggedJaggedBmm(ctx, x, Tensor::Zeros(ctx, {4, 3}), offsets, 3);
            }),
            "JaggedJaggedBmm: x [5, 3] and y [4, 3]; expected [N, .] twice, with one N");
  EXPECT_THROW(JaggedJaggedBmm(ctx, x, y, offsets, 3), Error);
  EXPECT_THROW(JaggedDenseBmm(ctx, x, offsets, Tensor::Zeros(ctx, {2, 3, 2}), 3), Error);
  EXPECT_THROW(JaggedDenseBmm(ctx, x, offsets, Tensor::Zeros(ctx, {3, 2, 2}), 3), Error);
  EXPECT_THROW(BatchedDenseVecJagged2dMul(ctx, Tensor::Zeros(ctx, {4, 2}), x, offsets), Error);
  EXPECT_THROW(BatchedDenseVecJagged2dMul(ctx, Tensor::Zeros(ctx, {6, 2}), x, offsets), Error);
  EXPECT_THROW(BatchedDenseVecJagged2dMul(ctx, Tensor::Zeros(ctx, {6, 2}), x, none), Error);
  EXPECT_EQ(testing::ErrorOf([&] { JaggedSoftmax(ctx, y, offsets, 3); }),
            "JaggedSoftmax: x [3, 3, 2]; expected [N, D]");
  if (!on_cpu()) return;  // a device does not look at what follows
  EXPECT_THROW(JaggedJaggedBmm(ctx, x, x, offsets, 2), Error);  // a bag of 3
  EXPECT_THROW(JaggedDenseBmm(ctx, x, offsets, y, 2), Error);
  EXPECT_THROW(JaggedSoftmax(ctx, x, offsets, 2), Error);
  EXPECT_THROW(JaggedSoftmax(ctx, x, none, 2), Error);
}

TESSERA_INSTANTIATE_DEVICES(JaggedMatmulTest);
TESSERA_INSTANTIATE_DEVICES(JaggedSoftmaxTest);

}  // namespace
}  // namespace tessera
