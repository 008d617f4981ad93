#include "sparse/keyed_tensor.h"

#include <gtest/gtest.h>

#include "sparse/regroup.h"
#include "tests/testing/devices.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

class KeyedTensorTest : public testing::DeviceTest {};
class RegroupTest : public testing::DeviceTest {};

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;
using Groups = std::vector<std::vector<std::string>>;

KeyedTensor Example(Context& ctx) {
  return KeyedTensor({"p", "q"}, {1, 2}, Tensor::From(ctx, {2, 3}, Floats{1, 2, 3, 4.5, 5, -6}));
}

TEST_P(KeyedTensorTest, BlocksByKey) {
  Context& ctx = this->ctx();
  const KeyedTensor kt = Example(ctx);
  EXPECT_EQ(kt.offset_per_key(), (Longs{0, 1, 3}));
  EXPECT_EQ(kt.index_per_key(), (std::map<std::string, int64_t>{{"p", 0}, {"q", 1}}));
  EXPECT_EQ(kt.At(ctx, "q").value().ToVector<float>(), (Floats{2, 3, 5, -6}));
  const auto dict = kt.ToDict(ctx);
  EXPECT_EQ(dict[0].first, "p");
  EXPECT_EQ(dict[0].second.value().ToVector<float>(), (Floats{1, 4.5}));
  EXPECT_EQ(kt.To(ctx, DType::kF64).values().value().dtype(), DType::kF64);
  EXPECT_EQ(
      ToString(kt),
      "KeyedTensor({\n    \"p\": [[1.0], [4.5]],\n    \"q\": [[2.0, 3.0], [5.0, -6.0]]\n})\n");
  EXPECT_EQ(ToString(KeyedTensor()), "KeyedTensor()\n");
  EXPECT_TRUE(KeyedTensor().ToDict(ctx).empty());
}

TEST_P(KeyedTensorTest, FromTensorListAlongEitherDimension) {
  Context& ctx = this->ctx();
  const Tensor a = testing::RandomTensor(ctx, {2, 3}), b = testing::RandomTensor(ctx, {2, 1});
  const KeyedTensor kt = KeyedTensor::FromTensorList(ctx, {"a", "b"}, {a, b});
  EXPECT_EQ(kt.length_per_key(), (Longs{3, 1}));
  EXPECT_TRUE(SameBits(kt.At(ctx, "a").value().Contiguous(ctx), a));
  const KeyedTensor rows = KeyedTensor::FromTensorList(ctx, {"a", "b"}, {a, a.Rows(0, 1)}, 0);
  EXPECT_EQ(rows.values().shape(), (Shape{3, 3}));
  EXPECT_EQ(rows.At(ctx, "b").shape(), (Shape{1, 3}));
}

TEST_P(KeyedTensorTest, Errors) {
  Context& ctx = this->ctx();
  const Tensor values = Tensor::Zeros(ctx, {2, 3});
  EXPECT_THROW(KeyedTensor({"p"}, {2}, values), Error);
  EXPECT_THROW(KeyedTensor({"p", "q"}, {3}, values), Error);
  EXPECT_THROW(KeyedTensor({"p", "q"}, {4, -1}, values), Error);
  EXPECT_THROW(KeyedTensor({"p"}, {3}, values, 2), Error);
  EXPECT_THROW(KeyedTensor({"p"}, {3}, Variable()), Error);
  EXPECT_THROW(Example(ctx).At(ctx, "x"), Error);
  EXPECT_THROW(KeyedTensor::FromTensorList(ctx, {}, {}), Error);
  EXPECT_THROW(KeyedTensor::FromTensorList(ctx, {"a"}, {values}, 3), Error);
  EXPECT_THROW(KeyedTensor::FromTensorList(ctx, {"a", "b"}, {values, Tensor::Zeros(ctx, {3, 3})}),
               Error);
  EXPECT_THROW(KeyedTensor::FromTensorList(ctx, {"a", "b"}, {values, Tensor::Zeros(ctx, {3})}),
               Error);
  EXPECT_THROW(KeyedTensor::Regroup(ctx, {Example(ctx)}, {{"x"}}), Error);
  EXPECT_THROW(KeyedTensor::RegroupAsDict(ctx, {Example(ctx)}, {{"p"}}, {}), Error);
  EXPECT_THROW(
      KeyedTensor::Regroup(ctx, {Example(ctx), KeyedTensor({"z"}, {3}, Tensor::Zeros(ctx, {3, 3}))},
                           {{"p", "z"}}),
      Error);
}

TEST_P(KeyedTensorTest, RegroupTakesColumnsInOrder) {
  for (int threads : {1, 3}) {
    Context ctx({.device = device(), .threads = threads});
    const int64_t rows = 131;
    const Tensor x = testing::RandomTensor(ctx, {rows, 5}),
                 y = testing::RandomTensor(ctx, {rows, 4});
    const KeyedTensor first({"a", "b"}, {2, 3}, x), second({"c", "d"}, {4, 0}, y);
    const auto blocks = KeyedTensor::RegroupAsDict(
        ctx, {first, second}, {{"b", "c", "b"}, {}, {"a", "d"}}, {"u", "v", "w"});
    EXPECT_EQ(blocks[0].first, "u");
    EXPECT_EQ(blocks[0].second.shape(), (Shape{rows, 10}));
    EXPECT_EQ(blocks[1].second.shape(), (Shape{rows, 0}));
    EXPECT_TRUE(SameBits(blocks[0].second.value().Narrow(1, 7, 3).Contiguous(ctx),
                         x.Narrow(1, 2, 3).Contiguous(ctx)));
    EXPECT_TRUE(SameBits(blocks[0].second.value().Narrow(1, 3, 4).Contiguous(ctx), y));
    EXPECT_TRUE(SameBits(blocks[2].second.value(), x.Narrow(1, 0, 2).Contiguous(ctx)));
  }
}

TEST_P(KeyedTensorTest, AKeyOfTwoInputsIsTakenFromTheLast) {
  Context& ctx = this->ctx();
  const KeyedTensor one({"a"}, {1}, Tensor::Full(ctx, {1, 1}, 1)),
      two({"a"}, {1}, Tensor::Full(ctx, {1, 1}, 2));
  EXPECT_EQ(KeyedTensor::Regroup(ctx, {one, two}, {{"a"}})[0].value().ToVector<float>(), Floats{2});
}

TEST_P(KeyedTensorTest, Gradients) {
  Context& ctx = this->ctx();
  using Variables = std::vector<Variable>;
  const std::vector<Tensor> inputs = {testing::RandomTensor(ctx, {3, 5}),
                                      testing::RandomTensor(ctx, {3, 3})};
  testing::ExpectGradients(
      ctx,
      [](Context& c, const Variables& in) {
        return KeyedTensor::Regroup(
            c, {KeyedTensor({"a", "b"}, {2, 3}, in[0]), KeyedTensor({"c", "d"}, {1, 2}, in[1])},
            Groups{{"a", "c", "a"}, {"a"}, {"c"}});
      },
      inputs);
  testing::ExpectGradients(
      ctx,
      [](Context& c, const Variables& in) {
        Variables blocks;
        for (const auto& [key, block] : KeyedTensor({"a", "b"}, {2, 3}, in[0]).ToDict(c))
          blocks.push_back(block);
        blocks.push_back(KeyedTensor::FromTensorList(c, {"a", "b"}, in).At(c, "b"));
        return blocks;
      },
      inputs);
  testing::ExpectGradient(ctx,
                          [](Context& c, const Variables& in) {
                            return PermutePooledEmbs(c, in[0], {0, 2, 2, 5}, {2, 0, 2, 1});
                          },
                          {inputs[0]});
}

TEST_P(RegroupTest, OnlySomeGradientsArrive) {
  Context& ctx = this->ctx();
  Variable x(testing::RandomTensor(ctx, {2, 3}), true);
  Tape tape(ctx);
  const auto blocks =
      KeyedTensor::Regroup(ctx, {KeyedTensor({"a", "b"}, {1, 2}, x)}, {{"a"}, {"b"}});
  tape.Backward(blocks[1], Tensor::Full(ctx, {2, 2}, 3));
  EXPECT_EQ(x.grad().ToVector<float>(), (Floats{0, 3, 3, 0, 3, 3}));
}

// Gradients of a block that is used twice are summed in f32 and rounded once.
TEST_P(RegroupTest, TrainsRowsOf16Bits) {
  Context& ctx = this->ctx();
  const auto regrouped = [&](const Variable& x) {
    return KeyedTensor::Regroup(ctx, {KeyedTensor({"a", "b"}, {2, 3}, x)}, {{"b", "a", "b"}})[0];
  };
  const auto permuted = [&](const Variable& x) {
    return PermutePooledEmbs(ctx, x, {0, 2, 5}, {1, 0, 1});
  };
  const auto gradient = [&](const auto& op, const Tensor& values, const Tensor& grad) {
    Variable x(values, true);
    Tape tape(ctx);
    const Variable out = op(x);
    EXPECT_EQ(out.value().dtype(), values.dtype());
    tape.Backward(out, grad);
    return x.grad();
  };
  const auto expect_f32_rounded = [&](const auto& op, DType dtype) {
    const Tensor values = testing::RandomTensor(ctx, {4, 5}).To(ctx, dtype),
                 grad = testing::RandomTensor(ctx, {4, 8}).To(ctx, dtype);
    const Tensor expected =
        gradient(op, values.To(ctx, DType::kF32), grad.To(ctx, DType::kF32)).To(ctx, dtype);
    EXPECT_TRUE(SameBits(gradient(op, values, grad).ToHost(), expected.ToHost()));
  };
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    expect_f32_rounded(regrouped, dtype);
    expect_f32_rounded(permuted, dtype);
  }
}

// Each reader of rows of 16 bits brings a gradient of 16 bits.
TEST_P(KeyedTensorTest, TrainsBlocksOf16Bits) {
  Context& ctx = this->ctx();
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    Variable x(Tensor::Zeros(ctx, {2, 3}).To(ctx, dtype), true);
    Tape tape(ctx);
    const KeyedTensor kt({"a", "b"}, {1, 2}, x);
    const Variable joined =
        KeyedTensor::FromTensorList(ctx, {"a", "b", "c"},
                                    {kt.At(ctx, "a"), kt.At(ctx, "b"), kt.At(ctx, "a")})
            .values();
    tape.Backward(joined,
                  Tensor::From<float>(ctx, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}).To(ctx, dtype));
    EXPECT_EQ(x.grad().To(ctx, DType::kF32).ToVector<float>(), (Floats{5, 2, 3, 13, 6, 7}));
  }
}

TEST_P(RegroupTest, PlansAndErrors) {
  Context& ctx = this->ctx();
  EXPECT_THROW(PlanRegroup({{"a"}}, {}, {}), Error);
  EXPECT_THROW(PlanRegroup({{"a"}}, {{1, 2}}, {}), Error);
  EXPECT_THROW(PlanRegroup({{"a"}}, {{-1}}, {}), Error);
  EXPECT_THROW(Regroup(ctx, {}, PlanRegroup({{"a"}}, {{1}}, {})), Error);
  EXPECT_TRUE(Regroup(ctx, {}, RegroupPlan{}).empty());
  const Tensor x = Tensor::Zeros(ctx, {2, 3});
  EXPECT_THROW(PermutePooledEmbs(ctx, x, {0, 3}, {1}), Error);
  EXPECT_THROW(PermutePooledEmbs(ctx, x, {0, 2}, {0}), Error);
  EXPECT_THROW(PermutePooledEmbs(ctx, x, {}, {}), Error);
  EXPECT_THROW(PermutePooledEmbs(ctx, x, {0, 4, 3}, {0}), Error);
  const RegroupArguments arguments =
      KtRegroupArguments(ctx, {{"a", "b"}}, {{1, 2}}, {{"a", "b", "a"}, {"a"}});
  EXPECT_EQ(arguments.permutes.ToVector<int32_t>(), (std::vector<int32_t>{0, 0, 0, 0, 1, 2,   //
                                                                          0, 0, 1, 1, 2, 0,   //
                                                                          0, 0, 0, 3, 1, -3,  //
                                                                          0, 1, 0, 0, 1, -4}));
  EXPECT_EQ(arguments.out_lengths, (Longs{4, 1}));
}

TESSERA_INSTANTIATE_DEVICES(KeyedTensorTest);
TESSERA_INSTANTIATE_DEVICES(RegroupTest);

}  // namespace
}  // namespace tessera
