#include "runtime/tensor_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/testing/comma_locale.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

class TensorTextTest : public testing::DeviceTest {
 protected:
  Tensor Counting(const Shape& shape) {
    std::vector<int64_t> values(static_cast<size_t>(shape.numel()));
    std::iota(values.begin(), values.end(), int64_t{0});
    return Tensor::From(ctx(), shape, values);
  }
};

TEST_P(TensorTextTest, IsLaidOutAsNumPyDoes) {
  EXPECT_EQ(ToString(Counting({3})), "[0, 1, 2]");
  EXPECT_EQ(ToString(Counting({2, 2})), "[[0, 1],\n [2, 3]]");
  EXPECT_EQ(ToString(Counting({2, 2, 1})), "[[[0],\n  [1]],\n\n [[2],\n  [3]]]");
  EXPECT_EQ(ToString(Counting({2, 0})), "[[],\n []]");
  EXPECT_EQ(ToString(Counting({})), "0");
  EXPECT_EQ(ToString(Tensor()), "undefined");
}

TEST_P(TensorTextTest, SeesViewsThroughTheirStrides) {
  EXPECT_EQ(ToString(Counting({3, 4}).Narrow(1, 1, 2).Rows(1, 3)), "[[5, 6],\n [9, 10]]");
}

TEST_P(TensorTextTest, KnowsEveryType) {
  const Tensor floats = Tensor::From<float>(ctx(), {1, -0.25f});
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16})
    EXPECT_EQ(ToString(floats.To(ctx(), dtype)), "[1.0000, -0.2500]");
  for (const DType dtype : {DType::kI8, DType::kU8, DType::kI16, DType::kI32, DType::kI64})
    EXPECT_EQ(ToString(Counting({2}).To(ctx(), dtype)), "[0, 1]");
  EXPECT_EQ(ToString(Counting({2}).To(ctx(), DType::kBool)), "[false, true]");
}

TEST_P(TensorTextTest, WritesWhatIsVeryLargeOrSmallScientifically) {
  EXPECT_EQ(ToString(Tensor::From<float>(ctx(), {1e8f, 99999, 1e-4f, 4e-5f, 0, -INFINITY, -NAN})),
            "[1.0000e+08, 99999.0000, 0.0001, 4.0000e-05, 0.0000, -inf, nan]");
}

TEST_P(TensorTextTest, KnowsNoLocale) {
  const testing::CommaLocale comma(::testing::TempDir());
  EXPECT_EQ(ToString(Tensor::From<float>(ctx(), {0.5f, 1.5e9f})), "[0.5000, 1.5000e+09]");
}

TEST_P(TensorTextTest, ShortensWhatIsLong) {
  EXPECT_EQ(ToString(Counting({1001})), "[0, 1, 2, ..., 998, 999, 1000]");
  EXPECT_EQ(ToString(Counting({2, 501})),
            "[[0, 1, 2, ..., 498, 499, 500],\n [501, 502, 503, ..., 999, 1000, 1001]]");
  EXPECT_EQ(ToString(Counting({1001, 1})),
            "[[0],\n [1],\n [2],\n ...,\n [998],\n [999],\n [1000]]");
}

TESSERA_INSTANTIATE_DEVICES(TensorTextTest);

}  // namespace
}  // namespace tessera
