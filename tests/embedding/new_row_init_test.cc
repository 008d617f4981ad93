#include "embedding/table/new_row_init.h"

#include <gtest/gtest.h>

#include "embedding/table/row_init.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using internal::RowSelection;

class NewRowInitTest : public testing::DeviceTest {
 protected:
  static BaseEmbeddingConfig Config(int64_t dim) {
    BaseEmbeddingConfig config;
    config.name = "t";
    config.num_embeddings = 40;
    config.embedding_dim = dim;
    config.init_range = std::pair(-2.0f, 3.0f);
    return config;
  }
  Tensor Started(const BaseEmbeddingConfig& config, const RowSelection& rows, int64_t step = 5) {
    const Tensor weight =
        Tensor::Full(ctx(), {config.num_embeddings, config.embedding_dim}, -99, config.data_type);
    internal::InitNewRows(ctx(), config, weight, rows, 11, step);
    return weight;
  }
  std::vector<float> Values(const Tensor& tensor) {
    return tensor.To(ctx(), DType::kF32).ToVector<float>();
  }
};

TEST_P(NewRowInitTest, ElementsAreThoseOfTheFormula) {
  const std::vector<float> values = Values(Started(Config(7), {{}, 3, 20}));
  for (int64_t row = 0; row < 40; ++row)
    for (int64_t column = 0; column < 7; ++column) {
      const PhiloxBits bits = Philox(11, static_cast<uint64_t>(row),
                                     uint64_t{5} << 32 | static_cast<uint64_t>(column / 4));
      const float expected = row >= 3 && row < 20 ? -2 + 5 * UniformFloat(bits.v[column % 4]) : -99;
      ASSERT_EQ(values[static_cast<size_t>(row * 7 + column)], expected) << row << " " << column;
    }
}

// Single rows, other types and parts of a table start with the values that they have among others.
TEST_P(NewRowInitTest, ARowDependsOnNoOther) {
  for (const bool by_function : {false, true}) {
    BaseEmbeddingConfig config = Config(10);
    if (by_function) config.init_fn = NormalRows(1, 2);
    const Tensor whole = Started(config, {{}, 0, 40});
    const Tensor some = Started(config, {Tensor::From<int64_t>(ctx(), {31, 7, 8})});
    for (const int64_t row : {7, 8, 31})
      EXPECT_TRUE(SameBits(some.Rows(row, row + 1).ToHost(), whole.Rows(row, row + 1).ToHost()));
    EXPECT_EQ(Values(some)[0], -99);
    EXPECT_FALSE(SameBits(Started(config, {{}, 0, 40}, 6).ToHost(), whole.ToHost()));
    config.data_type = DType::kBF16;
    EXPECT_TRUE(
        SameBits(Started(config, {{}, 0, 40}).ToHost(), whole.To(ctx(), DType::kBF16).ToHost()));
  }
}

TEST_P(NewRowInitTest, PartsOfATableStartAsTheWhole) {
  BaseEmbeddingConfig config = Config(10);
  const Tensor whole = Started(config, {{}, 0, 40});
  config.num_embeddings = 15;
  config.embedding_dim = 6;
  config.place.first_row = 21;
  config.place.first_column = 3;
  const Tensor part = Started(config, {{}, 0, 15});
  EXPECT_TRUE(SameBits(part.ToHost(), whole.Rows(21, 36).Narrow(1, 3, 6).Clone(ctx()).ToHost()));
}

TEST_P(NewRowInitTest, TheContextsRandomNumbersStayAsTheyAre) {
  BaseEmbeddingConfig config = Config(10);
  config.init_fn = UniformRows(0, 1);
  const uint64_t before = ctx().random().next_sequence();
  Started(config, {{}, 0, 40});
  EXPECT_EQ(ctx().random().next_sequence(), before);
}

TESSERA_INSTANTIATE_DEVICES(NewRowInitTest);

}  // namespace
}  // namespace tessera
