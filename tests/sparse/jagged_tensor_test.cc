#include "sparse/jagged_tensor.h"

#include <gtest/gtest.h>

#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using tessera::testing::ErrorOf;

class JaggedTensorTest : public testing::DeviceTest {};

using Longs = std::vector<int64_t>;
using Floats = std::vector<float>;

JaggedTensor Example(Context& ctx, bool weighted = false) {
  return JaggedTensor(Tensor::From(ctx, Longs{5, 7, 1}), Tensor::From(ctx, Longs{1, 0, 2}), {},
                      weighted ? Variable(Tensor::From(ctx, Floats{.5f, .25f, 4})) : Variable());
}

TEST_P(JaggedTensorTest, LengthsAndOffsetsMakeEachOther) {
  Context& ctx = this->ctx();
  const JaggedTensor by_lengths = Example(ctx);
  EXPECT_FALSE(by_lengths.offsets_or_none().defined());
  EXPECT_EQ(by_lengths.offsets(ctx).ToVector<int64_t>(), (Longs{0, 1, 1, 3}));
  const JaggedTensor copy = by_lengths;
  EXPECT_TRUE(copy.offsets_or_none().defined());
  const JaggedTensor by_offsets(Tensor::From(ctx, Longs{5, 7, 1}), {}, by_lengths.offsets(ctx));
  EXPECT_FALSE(by_offsets.lengths_or_none().defined());
  EXPECT_EQ(by_offsets.lengths(ctx).ToVector<int64_t>(), (Longs{1, 0, 2}));
  EXPECT_EQ(by_offsets.batch_size(), 3);
  EXPECT_TRUE(JtIsEqual(ctx, by_lengths, by_offsets));
  EXPECT_FALSE(JtIsEqual(ctx, by_lengths, Example(ctx, true)));
}

TEST_P(JaggedTensorTest, EmptyOnes) {
  Context& ctx = this->ctx();
  const JaggedTensor none = JaggedTensor().To(ctx, device());
  EXPECT_EQ(none.batch_size(), 0);
  EXPECT_EQ(none.offsets(ctx).ToVector<int32_t>(), std::vector<int32_t>{0});
  EXPECT_TRUE(none.ToDense(ctx).empty());
  EXPECT_EQ(ToString(ctx, none), "JaggedTensor({\n    []\n})\n");
  const JaggedTensor empty = JaggedTensor::Empty(ctx, true, DType::kI64, DType::kF16, DType::kI64);
  EXPECT_EQ(empty.values().value().dtype(), DType::kI64);
  EXPECT_EQ(empty.weights().value().dtype(), DType::kF16);
  EXPECT_EQ(empty.lengths(ctx).dtype(), DType::kI64);
  EXPECT_EQ(empty.ToPaddedDense(ctx).shape(), (Shape{0, 0}));
  EXPECT_TRUE(empty.ToDenseWeights(ctx).empty());
}

TEST_P(JaggedTensorTest, DenseThereAndBack) {
  Context& ctx = this->ctx();
  const JaggedTensor jt = Example(ctx, true);
  const std::vector<Variable> bags = jt.ToDense(ctx), weights = jt.ToDenseWeights(ctx);
  ASSERT_EQ(bags.size(), 3u);
  EXPECT_EQ(bags[2].value().ToVector<int64_t>(), (Longs{7, 1}));
  EXPECT_EQ(bags[1].value().numel(), 0);
  EXPECT_EQ(bags[2].value().raw_data(), jt.values().value().Rows(1, 3).raw_data());  // a view
  const JaggedTensor back = JaggedTensor::FromDense(ctx, bags, weights);
  EXPECT_EQ(back.lengths(ctx).dtype(), DType::kI32);
  EXPECT_EQ(back.lengths(ctx).ToVector<int32_t>(), (std::vector<int32_t>{1, 0, 2}));
  EXPECT_TRUE(SameBits(back.values(), jt.values()));
  EXPECT_TRUE(SameBits(back.weights(), jt.weights()));
}

TEST_P(JaggedTensorTest, PaddedDense) {
  Context& ctx = this->ctx();
  const JaggedTensor jt = Example(ctx, true);
  EXPECT_EQ(jt.ToPaddedDense(ctx).value().ToVector<int64_t>(), (Longs{5, 0, 0, 0, 7, 1}));
  EXPECT_EQ(jt.ToPaddedDense(ctx, 1, -1).value().ToVector<int64_t>(), (Longs{5, -1, 7}));
  EXPECT_EQ(jt.ToPaddedDense(ctx, 3, 9).value().ToVector<int64_t>(),
            (Longs{5, 9, 9, 9, 9, 9, 7, 1, 9}));
  EXPECT_EQ(jt.ToPaddedDense(ctx, 0).shape(), (Shape{3, 0}));
  EXPECT_EQ(jt.ToPaddedDenseWeights(ctx, 1, .5).value().ToVector<float>(),
            (Floats{.5f, .5f, .25f}));
}

TEST_P(JaggedTensorTest, FromDenseLengthsTakesTheFirstOfEachRow) {
  Context& ctx = this->ctx();
  const Tensor values = Tensor::From(ctx, {2, 3}, Longs{1, 2, 3, 4, 5, 6}),
               lengths = Tensor::From(ctx, std::vector<int32_t>{2, 1});
  const JaggedTensor jt =
      JaggedTensor::FromDenseLengths(ctx, values, lengths, values.To(ctx, DType::kF32));
  EXPECT_EQ(jt.values().value().ToVector<int64_t>(), (Longs{1, 2, 4}));
  EXPECT_EQ(jt.weights().value().ToVector<float>(), (Floats{1, 2, 4}));
  EXPECT_EQ(jt.offsets(ctx).ToVector<int32_t>(), (std::vector<int32_t>{0, 2, 3}));
}

TEST_P(JaggedTensorTest, PrintsAsTheTutorialDoes) {
  Context& ctx = this->ctx();
  EXPECT_EQ(ToString(ctx, Example(ctx)), "JaggedTensor({\n    [[5], [], [7, 1]]\n})\n");
  EXPECT_EQ(ToString(ctx, Example(ctx, true)),
            "JaggedTensor({\n    \"values\": [[5], [], [7, 1]],\n    \"weights\": [[0.5], [], "
            "[0.25, 4.0]]\n})\n");
}

TEST_P(JaggedTensorTest, RefusesWhatIsMalformed) {
  Context& ctx = this->ctx();
  const Tensor values = Tensor::From(ctx, Longs{5, 7, 1});
  const auto make = [&](Longs lengths, Longs offsets, int64_t weights = -1) {
    return ErrorOf([&] {
      JaggedTensor(values, lengths.empty() ? Tensor() : Tensor::From(ctx, lengths),
                   offsets.empty() ? Tensor() : Tensor::From(ctx, offsets),
                   weights < 0 ? Variable() : Variable(Tensor::Zeros(ctx, {weights})));
    });
  };
  EXPECT_EQ(make({1, 2}, {}), "");
  EXPECT_NE(make({}, {}).find("neither lengths nor offsets"), std::string::npos);
  if (on_cpu()) {  // a device is not asked for numbers
    EXPECT_NE(make({4, -1}, {}).find("bag 1 has length -1"), std::string::npos);
    EXPECT_NE(make({1, 1}, {}).find("3 values"), std::string::npos);
    EXPECT_NE(make({}, {0, 4, 3}).find("offsets fall at bag 1"), std::string::npos);
    EXPECT_NE(make({}, {1, 3}).find("first offset"), std::string::npos);
    EXPECT_NE(make({}, {0, 2}).find("the last offset is 2"), std::string::npos);
    EXPECT_NE(make({1, 2}, {0, 2, 3}).find("bag 0: lengths and offsets disagree"),
              std::string::npos);
  }
  EXPECT_NE(make({1, 2}, {0, 3}).find("one more than lengths"), std::string::npos);
  EXPECT_NE(make({1, 2}, {}, 2).find("weights [2]; expected [3]"), std::string::npos);
  EXPECT_EQ(ErrorOf([&] {
              JaggedTensor(values, Tensor::From(ctx, Longs{3}), {}, Tensor::Zeros(ctx, {3, 2}));
            }),
            "JaggedTensor: weights [3, 2]; expected [3], one a value");
  EXPECT_NE(ErrorOf([&] { JaggedTensor(values, Tensor::Zeros(ctx, {3})); }).find("f32"),
            std::string::npos);
  EXPECT_THROW(JaggedTensor(Variable(), Tensor::From(ctx, Longs{})), Error);
  EXPECT_THROW(Example(ctx).weights(), Error);
  EXPECT_THROW(Example(ctx).ToPaddedDense(ctx, -1), Error);
  EXPECT_THROW(JaggedTensor::FromDense(ctx, {}), Error);
  EXPECT_THROW(JaggedTensor::FromDense(ctx, {values}, {Tensor::Zeros(ctx, {2})}), Error);
  EXPECT_THROW(
      JaggedTensor::FromDenseLengths(ctx, Tensor::Zeros(ctx, {1, 2}), Tensor::From(ctx, Longs{3})),
      Error);
  EXPECT_THROW(JaggedTensor::FromDenseLengths(ctx, Tensor::Zeros(ctx, {1, 2}),
                                              Tensor::From(ctx, Longs{2}), Tensor::Zeros(ctx, {2})),
               Error);
}

TEST_P(JaggedTensorTest, GoesToTheDeviceAndBack) {
  Context cpu;
  const JaggedTensor here = Example(cpu, true), there = here.To(ctx(), device());
  EXPECT_EQ(there.values().value().device(), device());
  EXPECT_TRUE(JtIsEqual(ctx(), there, Example(ctx(), true)));
  EXPECT_TRUE(JtIsEqual(cpu, there.To(ctx(), Device::Cpu()), here));
}

TEST_P(JaggedTensorTest, GradientsFlowThroughDenseForms) {
  Context& ctx = this->ctx();
  const Tensor lengths = Tensor::From(ctx, Longs{2, 0, 3});
  const Tensor x = testing::RandomTensor(ctx, {5, 2});
  testing::ExpectGradients(ctx,
                           [&](Context& c, const std::vector<Variable>& in) {
                             return JaggedTensor(in[0], lengths).ToDense(c);
                           },
                           {x});
  testing::ExpectGradient(ctx,
                          [&](Context& c, const std::vector<Variable>& in) {
                            return JaggedTensor(in[0], lengths).ToPaddedDense(c, 2, 7);
                          },
                          {x});
  testing::ExpectGradient(ctx,
                          [&](Context& c, const std::vector<Variable>& in) {
                            return JaggedTensor::FromDense(c, in).values();
                          },
                          {testing::RandomTensor(ctx, {2, 2}), testing::RandomTensor(ctx, {0, 2}),
                           testing::RandomTensor(ctx, {1, 2})});
  testing::ExpectGradient(ctx,
                          [&](Context& c, const std::vector<Variable>& in) {
                            return JaggedTensor::FromDenseLengths(c, in[0], lengths).values();
                          },
                          {testing::RandomTensor(ctx, {3, 3, 2})});
}

TESSERA_INSTANTIATE_DEVICES(JaggedTensorTest);

}  // namespace
}  // namespace tessera
