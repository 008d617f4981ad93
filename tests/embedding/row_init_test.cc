#include "embedding/table/row_init.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/testing/devices.h"

namespace tessera {
namespace {

class RowInitTest : public testing::DeviceTest {
 protected:
  std::vector<float> Made(const RowInit& init, const Shape& shape = {50, 30}) {
    const Tensor weight = Tensor::Full(ctx(), shape, -99);
    init(ctx(), weight);
    return weight.ToVector<float>();
  }
  struct Moments {
    double mean, deviation, largest;
  };
  Moments MomentsOf(const std::vector<float>& values) {
    double sum = 0, squares = 0, largest = 0;
    for (const float v : values) {
      sum += static_cast<double>(v);
      squares += static_cast<double>(v) * static_cast<double>(v);
      largest = std::max(largest, static_cast<double>(std::abs(v)));
    }
    const auto n = static_cast<double>(values.size());
    return {sum / n, std::sqrt(squares / n - sum / n * (sum / n)), largest};
  }
};

TEST_P(RowInitTest, NormalRowsHaveTheirMomentsAndTails) {
  const Moments m = MomentsOf(Made(NormalRows(3, 0.5f), {100, 60}));
  EXPECT_NEAR(m.mean, 3, 0.03);
  EXPECT_NEAR(m.deviation, 0.5, 0.02);
  EXPECT_GT(m.largest, 3 + 3 * 0.5);
  std::vector<float> z = Made(NormalRows(0, 1), {100, 60});
  std::sort(z.begin(), z.end());
  EXPECT_NEAR(z[static_cast<size_t>(6000 * 0.8413)], 1, 0.08);
  EXPECT_NEAR(z[static_cast<size_t>(6000 * 0.0228)], -2, 0.15);
}

TEST_P(RowInitTest, BoundsAndDeviationsAreThoseOfTheFormulas) {
  const double xavier = std::sqrt(6.0 / 80), kaiming = std::sqrt(6.0 / (1 + 0.25) / 30);
  const auto expect_uniform = [&](const RowInit& init, double bound) {
    const Moments m = MomentsOf(Made(init));
    EXPECT_LE(m.largest, bound * (1 + 1e-6));
    EXPECT_GT(m.largest, bound * 0.99);
    EXPECT_NEAR(m.mean, 0, bound * 0.06);
  };
  expect_uniform(UniformRows(-2, 2), 2);
  expect_uniform(XavierUniformRows(3), 3 * xavier);
  expect_uniform(KaimingUniformRows(0.5f), kaiming);
  EXPECT_NEAR(MomentsOf(Made(XavierNormalRows())).deviation, std::sqrt(2.0 / 80), 0.01);
  EXPECT_NEAR(MomentsOf(Made(KaimingNormalRows(0.5f))).deviation, std::sqrt(2.0 / 1.25 / 30),
              0.015);
}

TEST_P(RowInitTest, ConstantsAndCallbacks) {
  EXPECT_THAT(Made(ConstantRows(2.5f), {2, 2}), ::testing::Each(2.5f));
  EXPECT_THAT(Made(RowsFrom([](int64_t row, int64_t column) {
                     return static_cast<float>(10 * row + column);
                   }),
                   {2, 3}),
              ::testing::ElementsAre(0, 1, 2, 10, 11, 12));
}

TEST_P(RowInitTest, NormalNumbersAreTheSameOnEveryDevice) {
  Context host({.threads = 1, .seed = 7});
  const Tensor expected = Tensor::Empty(host, {40, 20});
  FillNormal(host, expected, 0, 1);
  const Tensor got = Tensor::Empty(ctx(), {40, 20});
  FillNormal(ctx(), got, 0, 1);
  EXPECT_TRUE(SameBits(expected, got));
  FillNormal(ctx(), got, 0, 1);
  EXPECT_FALSE(SameBits(expected, got));
}

TESSERA_INSTANTIATE_DEVICES(RowInitTest);

}  // namespace
}  // namespace tessera
