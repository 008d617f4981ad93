#include "comm/reduce.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/testing/devices.h"

namespace tessera {
namespace {

class ReduceTest : public testing::DeviceTest {};

// Sums more parts than one launch of a GPU takes, of magnitudes at which the order shows.
TEST_P(ReduceTest, SumsInTheOrderOfParts) {
  for (const int num_parts : {1, 2, 16, 17, 35}) {
    const int64_t n = 3001;
    std::vector<Tensor> parts;
    std::vector<float> expected;
    for (int p = 0; p < num_parts; ++p) {
      std::vector<float> values;
      for (int64_t i = 0; i < n; ++i)
        values.push_back(static_cast<float>((i * 37 + p * 11) % 101) /
                         static_cast<float>(1 << p % 13));
      parts.push_back(Tensor::From(ctx(), values));
      expected.resize(values.size());
      for (size_t i = 0; i < values.size(); ++i)
        expected[i] = p == 0 ? values[i] : expected[i] + values[i];
    }
    EXPECT_EQ(ReduceInOrder(ctx(), parts, ReduceOp::kSum).ToVector<float>(), expected) << num_parts;
  }
}

TEST_P(ReduceTest, OpsAndTypes) {
  const auto reduce = [&]<typename T>(ReduceOp op, std::vector<T> a, std::vector<T> b) {
    return ReduceInOrder(ctx(), {Tensor::From(ctx(), a), Tensor::From(ctx(), b)}, op)
        .template ToVector<T>();
  };
  using I32 = std::vector<int32_t>;
  using F64 = std::vector<double>;
  EXPECT_EQ(reduce(ReduceOp::kMax, I32{1, 5}, I32{2, -3}), (I32{2, 5}));
  EXPECT_EQ(reduce(ReduceOp::kMin, I32{1, 5}, I32{2, -3}), (I32{1, -3}));
  EXPECT_EQ(reduce(ReduceOp::kSum, F64{0.1}, F64{0.2}), (F64{0.1 + 0.2}));
  const int32_t most = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(reduce(ReduceOp::kSum, I32{most}, I32{1}), (I32{std::numeric_limits<int32_t>::min()}));
  EXPECT_EQ(reduce(ReduceOp::kSum, std::vector<int64_t>{}, std::vector<int64_t>{}),
            std::vector<int64_t>{});
}

TEST_P(ReduceTest, RefusesWhatItCannotReduce) {
  const Tensor bytes = Tensor::Zeros(ctx(), {2}, DType::kU8), two = Tensor::Zeros(ctx(), {2});
  EXPECT_THROW(ReduceInOrder(ctx(), {}, ReduceOp::kSum), Error);
  EXPECT_THROW(ReduceInOrder(ctx(), {bytes, bytes}, ReduceOp::kSum), Error);
  EXPECT_THROW(ReduceInOrder(ctx(), {two, Tensor::Zeros(ctx(), {3})}, ReduceOp::kSum), Error);
  EXPECT_THROW(ReduceInOrder(ctx(), {two, Tensor::Zeros(ctx(), {2}, DType::kF64)}, ReduceOp::kSum),
               Error);
}

TESSERA_INSTANTIATE_DEVICES(ReduceTest);

}  // namespace
}  // namespace tessera
