#include "quant/quantize_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class QuantizeTableTest : public testing::DeviceTest {
 protected:
  Tensor Rows(int64_t n, int64_t dim) {
    const Tensor rows = Tensor::Empty(ctx(), {n, dim});
    FillUniform(ctx(), rows, -1, 1);
    return rows;
  }
  // The rows with numbers put in.
  Tensor With(const Tensor& rows, const std::vector<std::pair<int64_t, float>>& at) {
    std::vector<float> x = rows.ToVector<float>();
    for (const auto& [i, value] : at) x[static_cast<size_t>(i)] = value;
    return Tensor::From(ctx(), rows.shape(), x);
  }
};

TEST_P(QuantizeTableTest, BlocksMakeTheWhole) {
  const int64_t dim = on_cpu() ? 64 : 2048, n = on_cpu() ? 20000 : 600;  // several blocks
  const Tensor rows = Rows(n, dim);
  const RowCodec codec{RowType::kInt8};
  const QuantizedRows quantized = QuantizeTable(ctx(), SourceOf("t", rows), codec);
  EXPECT_TRUE(SameBits(quantized.rows.ToHost(), EncodeRows(ctx(), codec, rows).ToHost()));

  std::vector<int64_t> begins;
  int64_t seen = 0;
  const QuantizationError again =
      QuantizeTable(ctx(), SourceOf("t", rows), codec, {}, [&](int64_t begin, const Tensor& some) {
        EXPECT_EQ(begin, seen);
        begins.push_back(begin);
        seen += some.dim(0);
      });
  EXPECT_GT(begins.size(), 1u);
  EXPECT_EQ(seen, n);
  EXPECT_EQ(again.rms, quantized.error.rms);
}

TEST_P(QuantizeTableTest, ErrorIsThatOfTheDecodedRows) {
  const int64_t n = 40, dim = 12;
  const Tensor rows = With(Rows(n, dim), {{7 * dim + 2, 30.0f}});
  const RowCodec codec{RowType::kInt4};
  const QuantizedRows quantized = QuantizeTable(ctx(), SourceOf("t", rows), codec);
  const auto x = rows.ToVector<float>(),
             y = DecodeRows(ctx(), codec, quantized.rows, dim).ToVector<float>();
  double max = 0, squares = 0, values = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    max = std::max(max, std::abs(d));
    squares += d * d;
    values += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  EXPECT_EQ(quantized.error.max, max);
  EXPECT_NEAR(quantized.error.rms, std::sqrt(squares / (n * dim)), 1e-12);
  EXPECT_NEAR(quantized.error.value_rms, std::sqrt(values / (n * dim)), 1e-12);
  EXPECT_EQ(quantized.error.worst_row, 7);
  EXPECT_EQ(quantized.error.rows, n);
  EXPECT_THAT(ToString(quantized.error), HasSubstr("worst row 7"));
}

TEST_P(QuantizeTableTest, NanIsListedOrZero) {
  const float nan = std::nanf("");
  const Tensor clean = Rows(30, 4);
  const Tensor rows = With(clean, {{5 * 4 + 1, nan}, {9 * 4, -nan}, {9 * 4 + 3, nan}});
  const std::vector<RowSource> sources = {SourceOf("clean", clean), SourceOf("dirty", rows)};
  EXPECT_EQ(FindNan(ctx(), sources[0]).count, 0);
  EXPECT_EQ(FindNan(ctx(), sources[1]).first, (std::vector<int64_t>{5, 9}));
  EXPECT_THAT([&] { CheckNoNan(ctx(), sources); },
              ThrowsMessage<Error>(HasSubstr("table dirty: 2 rows: 5 9")));
  EXPECT_THAT([&] { QuantizeTable(ctx(), sources[1], {RowType::kInt8}); },
              ThrowsMessage<Error>(HasSubstr("table dirty: 2 rows")));
  const Tensor zeros = With(rows, {{5 * 4 + 1, 0.0f}, {9 * 4, 0.0f}, {9 * 4 + 3, 0.0f}});
  const RowCodec codec{RowType::kInt8};
  EXPECT_TRUE(
      SameBits(QuantizeTable(ctx(), sources[1], codec, {.nan = NanPolicy::kZero}).rows.ToHost(),
               EncodeRows(ctx(), codec, zeros).ToHost()));
  EXPECT_EQ(FindNan(ctx(), sources[1]).count, 2);  // the source is as it was
}

TEST_P(QuantizeTableTest, RowsThatAreNotFiniteAreCounted) {
  const Tensor rows = With(Rows(10, 4), {{13, std::numeric_limits<float>::infinity()}});
  const QuantizationError error = QuantizeTable(ctx(), SourceOf("t", rows), {RowType::kInt8}).error;
  EXPECT_EQ(error.not_finite, 1);
  EXPECT_EQ(error.rows, 9);
  EXPECT_TRUE(std::isfinite(error.rms));
}

TEST_P(QuantizeTableTest, NumbersThatACodecLosesCountAsWrongByAll) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor rows = With(Rows(10, 4), {{13, 1e25f}});
  const auto error_of = [&](const Tensor& x, RowType type) {
    return QuantizeTable(ctx(), SourceOf("t", x), {type}).error;
  };
  // In f16 the number alone is lost, in int8 its row of 4.
  EXPECT_EQ(error_of(rows, RowType::kF16).lost, 1 / 40.0);
  EXPECT_EQ(error_of(rows, RowType::kInt8).lost, 4 / 40.0);
  EXPECT_EQ(error_of(rows, RowType::kF32).relative(), 0);
  EXPECT_NEAR(error_of(rows, RowType::kF16).relative(), std::sqrt(1 / 40.0), 1e-5);
  EXPECT_LT(error_of(rows, RowType::kF16).relative(), error_of(rows, RowType::kInt8).relative());
  EXPECT_LT(error_of(rows, RowType::kInt8).relative(), error_of(rows, RowType::kInt2).relative());
  // An infinity of the table itself is no codec's error; what it does to its row is.
  const Tensor with_inf = With(rows, {{13, inf}});
  const QuantizationError half = error_of(with_inf, RowType::kF16);
  EXPECT_EQ(half.not_finite, 1);
  EXPECT_EQ(half.lost, 0);
  EXPECT_LT(half.relative(), 1e-3);
  EXPECT_EQ(error_of(with_inf, RowType::kInt8).lost, 3 / 39.0);
  EXPECT_EQ(error_of(Tensor::Full(ctx(), {2, 4}, inf), RowType::kInt8).relative(), 0);
}

TEST_P(QuantizeTableTest, SourcesOf16BitsAndOfFiles) {
  const Tensor rows = Rows(11, 8), half = rows.To(ctx(), DType::kF16);
  const RowCodec codec{RowType::kInt4};
  const Tensor expected = EncodeRows(ctx(), codec, half.To(ctx(), DType::kF32)).ToHost();
  EXPECT_TRUE(SameBits(QuantizeTable(ctx(), SourceOf("t", half), codec).rows.ToHost(), expected));

  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/rows.safetensors";
  WriteSafetensors(ctx(), path, {{{"t.weight", half}, {"v", rows.Reshape({88})}}, {}});
  const SafetensorsFile file(path);
  EXPECT_TRUE(
      SameBits(QuantizeTable(ctx(), SourceOf(file, "t.weight"), codec).rows.ToHost(), expected));
  EXPECT_THAT([&] { SourceOf(file, "u"); }, ThrowsMessage<Error>(HasSubstr("no tensor")));
  EXPECT_THAT([&] { SourceOf(file, "v"); },
              ThrowsMessage<Error>(HasSubstr("expected rows [E, D]")));
}

TESSERA_INSTANTIATE_DEVICES(QuantizeTableTest);

}  // namespace
}  // namespace tessera
