#include "sparse/python_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/testing/devices.h"

namespace tessera {
namespace {

class PythonTextTest : public testing::DeviceTest {};

TEST_P(PythonTextTest, Floats) {
  const std::pair<double, const char*> cases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-2.5, "-2.5"},
      {0.1f, "0.10000000149011612"},
      {0.1, "0.1"},
      {1e-4, "0.0001"},
      {1.5e-4, "0.00015"},
      {1e-5, "1e-05"},
      {1.25e-5, "1.25e-05"},
      {1e15, "1000000000000000.0"},
      {1e16, "1e+16"},
      {123456789.5, "123456789.5"},
      {1.5e100, "1.5e+100"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {9007199254740993.0, "9007199254740992.0"},
      {12.0, "12.0"},
      {100.0, "100.0"},
      {0.001, "0.001"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(PythonFloat(value), text);
  EXPECT_EQ(PythonFloat(INFINITY), "inf");
  EXPECT_EQ(PythonFloat(-INFINITY), "-inf");
  EXPECT_EQ(PythonFloat(NAN), "nan");
}

TEST_P(PythonTextTest, Lists) {
  Context& ctx = this->ctx();
  const Tensor t = Tensor::From(ctx, {2, 2}, std::vector<int64_t>{1, -2, 3, 4});
  EXPECT_EQ(PythonList(t), "[[1, -2], [3, 4]]");
  EXPECT_EQ(PythonList(t.Narrow(1, 1, 1)), "[[-2], [4]]");
  EXPECT_EQ(PythonList(Tensor::From(ctx, std::vector<bool>{true, false})), "[True, False]");
  EXPECT_EQ(PythonList(Tensor::Full(ctx, {2}, 1.5, DType::kBF16)), "[1.5, 1.5]");
  EXPECT_EQ(PythonList(Tensor::Empty(ctx, {0})), "[]");
  EXPECT_EQ(PythonList(Tensor::From(ctx, std::vector<uint8_t>{200})), "[200]");
}

TEST_P(PythonTextTest, Bags) {
  Context& ctx = this->ctx();
  const Tensor values = Tensor::From(ctx, std::vector<float>{1, 2, 0.5});
  EXPECT_EQ(PythonBags(values, Tensor::From(ctx, std::vector<int32_t>{2, 0, 1})),
            "[[1.0, 2.0], [], [0.5]]");
  EXPECT_EQ(PythonBags(values.Rows(0, 0), Tensor::Empty(ctx, {0}, DType::kI64)), "[]");
}

TESSERA_INSTANTIATE_DEVICES(PythonTextTest);

}  // namespace
}  // namespace tessera
