#include "sparse/jagged/jagged_dense.h"

#include <gtest/gtest.h>

#include "sparse/jagged/jagged_elementwise.h"
#include "sparse/ops/cumsum.h"
#include "tests/testing/devices.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

class JaggedDenseTest : public testing::DeviceTest {};

using Longs = std::vector<int64_t>;
using Floats = std::vector<float>;
using Variables = std::vector<Variable>;
using testing::ExpectGradient;
using testing::RandomTensor;

TEST_P(JaggedDenseTest, PadsAndCuts) {
  Context& ctx = this->ctx();
  const Tensor offsets = Tensor::From(ctx, std::vector<int32_t>{0, 1, 1, 4}),
               values = Tensor::From(ctx, {4, 2}, Floats{1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(JaggedToPaddedDense(ctx, values, {offsets}, {2}, -1).value().ToVector<float>(),
            (Floats{1, 2, -1, -1, -1, -1, -1, -1, 3, 4, 5, 6}));
  EXPECT_EQ(Jagged2dToDense(ctx, values, offsets, 1).value().ToVector<float>(),
            (Floats{1, 2, 0, 0, 3, 4}));
  EXPECT_EQ(Jagged1dToDense(ctx, Tensor::From(ctx, Longs{1, 2, 3, 4}), offsets, 2, 9)
                .value()
                .ToVector<int64_t>(),
            (Longs{1, 9, 9, 9, 2, 3}));
  EXPECT_EQ(JaggedToPaddedDense(ctx, values, {offsets}, {0}).shape(), (Shape{3, 0, 2}));
  EXPECT_EQ(PackSegments(ctx, values, LengthsFromOffsets(ctx, offsets), 4).shape(),
            (Shape{3, 4, 2}));
}

TEST_P(JaggedDenseTest, ComesBackFromWideEnoughDense) {
  for (int threads : {1, 3}) {
    Context ctx({.device = device(), .threads = threads});
    for (DType dtype : {DType::kF32, DType::kI64, DType::kF16, DType::kU8}) {
      const Tensor lengths = Tensor::From(ctx, Longs{3, 0, 1, 7}),
                   values = RandomTensor(ctx, {11, 3}, 100).To(ctx, dtype);
      const Tensor offsets = CompleteCumsum(ctx, lengths);
      const Variable padded = JaggedToPaddedDense(ctx, values, {offsets}, {7}, 1);
      EXPECT_TRUE(SameBits(DenseToJagged(ctx, padded, {offsets}), values));
    }
  }
}

// Three levels, against a walk over the bags.
TEST_P(JaggedDenseTest, SeveralLevels) {
  Context& ctx = this->ctx();
  const Longs top = {0, 2, 2, 3}, middle = {0, 1, 4, 6}, bottom = {0, 2, 2, 3, 7, 7, 8};
  const std::vector<Tensor> offsets = {Tensor::From(ctx, top), Tensor::From(ctx, middle),
                                       Tensor::From(ctx, bottom)};
  const Tensor values = Tensor::From(ctx, Floats{1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor y = JaggedToPaddedDense(ctx, values, offsets, {2, 2, 3}, -1);
  ASSERT_EQ(y.shape(), (Shape{3, 2, 2, 3}));
  const Floats got = y.ToVector<float>();
  size_t at = 0;
  for (size_t b = 0; b < 3; ++b)
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 2; ++j)
        for (int64_t k = 0; k < 3; ++k, ++at) {
          float expected = -1;
          if (top[b] + i < top[b + 1]) {
            const auto node = static_cast<size_t>(top[b] + i);
            if (middle[node] + j < middle[node + 1]) {
              const auto leaf = static_cast<size_t>(middle[node] + j);
              if (bottom[leaf] + k < bottom[leaf + 1])
                expected = static_cast<float>(bottom[leaf] + k + 1);
            }
          }
          EXPECT_EQ(got[at], expected) << at;
        }
  // Leaf 3 is the third child of its node and has no cell; row 6 is past the three slots of its
  // own.
  EXPECT_EQ(DenseToJagged(ctx, y, offsets).value().ToVector<float>(),
            (Floats{1, 2, 3, 0, 0, 0, 0, 8}));
  ExpectGradient(ctx,
                 [&](Context& c, const Variables& in) {
                   return JaggedToPaddedDense(c, in[0], offsets, {2, 2, 3}, 4);
                 },
                 {RandomTensor(ctx, {8, 2})});
  ExpectGradient(ctx,
                 [&](Context& c, const Variables& in) { return DenseToJagged(c, in[0], offsets); },
                 {RandomTensor(ctx, {3, 2, 2, 3, 2})});
}

TEST_P(JaggedDenseTest, ElementwiseOps) {
  Context& ctx = this->ctx();
  const std::vector<Tensor> offsets = {Tensor::From(ctx, Longs{0, 1, 1, 4})};
  const Tensor x = Tensor::From(ctx, {4, 1}, Floats{1, 2, 3, 4}),
               y = Tensor::From(ctx, {3, 2, 1}, Floats{10, 20, 30, 40, 50, 60});
  EXPECT_EQ(JaggedDenseElementwiseAdd(ctx, x, offsets, y).value().ToVector<float>(),
            (Floats{11, 20, 30, 40, 52, 63}));
  EXPECT_EQ(JaggedDenseElementwiseAddJaggedOutput(ctx, x, offsets, y).value().ToVector<float>(),
            (Floats{11, 52, 63, 4}));
  EXPECT_EQ(
      JaggedDenseDenseElementwiseAddJaggedOutput(ctx, x, offsets, y, y).value().ToVector<float>(),
      (Floats{21, 102, 123, 4}));
  EXPECT_EQ(JaggedDenseElementwiseMul(ctx, x, offsets, y).value().ToVector<float>(),
            (Floats{10, 100, 180, 0}));
}

TEST_P(JaggedDenseTest, Gradients) {
  Context& ctx = this->ctx();
  const std::vector<Tensor> offsets = {Tensor::From(ctx, Longs{0, 2, 2, 5})};
  for (int64_t slots : {0, 2, 4}) {
    const std::vector<Tensor> one = {RandomTensor(ctx, {5, 2}), RandomTensor(ctx, {3, slots, 2})};
    const std::vector<Tensor> two = {one[0], one[1], RandomTensor(ctx, {3, slots, 2})};
    ExpectGradient(ctx,
                   [&](Context& c, const Variables& in) {
                     return JaggedToPaddedDense(c, in[0], offsets, {slots});
                   },
                   {one[0]});
    ExpectGradient(
        ctx, [&](Context& c, const Variables& in) { return DenseToJagged(c, in[0], offsets); },
        {one[1]});
    ExpectGradient(
        ctx,
        [&](Context& c, const Variables& in) {
          return JaggedDenseElementwiseAdd(c, in[0], offsets, in[1]);
        },
        one);
    ExpectGradient(
        ctx,
        [&](Context& c, const Variables& in) {
          return JaggedDenseElementwiseAddJaggedOutput(c, in[0], offsets, in[1]);
        },
        one);
    ExpectGradient(
        ctx,
        [&](Context& c, const Variables& in) {
          return JaggedDenseElementwiseMul(c, in[0], offsets, in[1]);
        },
        one);
    ExpectGradient(
        ctx,
        [&](Context& c, const Variables& in) {
          return JaggedDenseDenseElementwiseAddJaggedOutput(c, in[0], offsets, in[1], in[2]);
        },
        two);
  }
  ExpectGradient(ctx,
                 [&](Context& c, const Variables& in) {
                   return PackSegments(c, in[0], Tensor::From(c, Longs{2, 0, 3}), 2);
                 },
                 {RandomTensor(ctx, {5, 2, 2})});
}

TEST_P(JaggedDenseTest, Errors) {
  Context& ctx = this->ctx();
  const Tensor values = Tensor::Zeros(ctx, {3, 1}), good = Tensor::From(ctx, Longs{0, 1, 3});
  const auto pad = [&](const std::vector<Tensor>& offsets, const Longs& max) {
    JaggedToPaddedDense(ctx, values, offsets, max);
  };
  pad({good}, {2});
  EXPECT_THROW(pad({}, {}), Error);
  EXPECT_THROW(pad({good}, {2, 2}), Error);
  EXPECT_THROW(pad({good}, {-1}), Error);
  EXPECT_THROW(pad({Tensor::Empty(ctx, {0}, DType::kI64)}, {2}), Error);
  EXPECT_THROW(pad({good.To(ctx, DType::kF32)}, {2}), Error);
  EXPECT_THROW(pad({good.To(ctx, DType::kI8)}, {2}), Error);
  const auto malformed = [&](const std::vector<Tensor>& offsets, const Longs& max) {
    if (on_cpu())
      EXPECT_THROW(pad(offsets, max), Error);
    else
      pad(offsets, max);  // takes the rows there are
  };
  malformed({Tensor::From(ctx, Longs{0, 1, 2})}, {2});
  malformed({Tensor::From(ctx, Longs{1, 3})}, {2});
  malformed({Tensor::From(ctx, Longs{0, 4, 3})}, {2});
  malformed({Tensor::From(ctx, Longs{-5, 900, 3})}, {2});
  malformed({good, good}, {2, 2});  // the first has two children too many
  EXPECT_THROW(Jagged1dToDense(ctx, values, good, 1), Error);
  EXPECT_THROW(Jagged2dToDense(ctx, Tensor::Zeros(ctx, {3}), good, 1), Error);
  EXPECT_THROW(DenseToJagged(ctx, Tensor::Zeros(ctx, {3, 2, 1}), {good}),
               Error);  // three bags, two in the offsets
  EXPECT_THROW(DenseToJagged(ctx, Tensor::Zeros(ctx, {2}), {good}), Error);
  EXPECT_THROW(JaggedDenseElementwiseAdd(ctx, values, {good}, Tensor::Zeros(ctx, {2, 2, 2})),
               Error);
  EXPECT_THROW(JaggedDenseElementwiseMul(ctx, values.To(ctx, DType::kF64), {good},
                                         Tensor::Zeros(ctx, {2, 2, 1})),
               Error);
  EXPECT_THROW(
      JaggedDenseDenseElementwiseAddJaggedOutput(ctx, values, {good}, Tensor::Zeros(ctx, {2, 2, 1}),
                                                 Tensor::Zeros(ctx, {2, 3, 1})),
      Error);
  if (on_cpu()) {
    EXPECT_THROW(PackSegments(ctx, values, Tensor::From(ctx, Longs{1, 1}), 2), Error);
  }
  ctx.Sync();
}

TESSERA_INSTANTIATE_DEVICES(JaggedDenseTest);

}  // namespace
}  // namespace tessera
