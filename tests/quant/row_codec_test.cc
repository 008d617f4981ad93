#include "quant/row_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "quant/row_layout.h"
#include "tests/testing/devices.h"
#include "tests/testing/isa_levels.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct Known {
  const char* name;
  int64_t bytes_of_24;  // without padding
  double tolerance;     // of numbers within ±1, as a part of 1
};
const Known kCodecs[] = {
    {"f32", 96, 0},
    {"f16", 48, 0x1p-11},
    {"bf16", 48, 0x1p-8},
    {"bf16_half_away", 48, 0x1p-8},
    {"hfp8", 24, 0x1p-4},
    {"e4m3", 24, 0x1p-4},
    {"e5m2", 24, 0x1p-3},
    {"int8", 28, 0.005},
    {"int4", 16, 0.07},
    {"int2", 10, 0.34},
    {"int8_exact", 28, 0.005},
    {"int8_tail", 28, 0.005},
    {"int4_tail", 16, 0.07},
    {"int2_tail", 10, 0.34},
    {"int8_f32", 32, 0.004},
    {"int8_f32_tail", 32, 0.004},
    {"mx4", 13, 0.25},
    {"mx4_floor", 13, 0.26},
    {"mx4_ceil", 13, 0.25},
    {"mx4_nearest", 13, 0.26},
};

class RowCodecTest : public testing::DeviceTest {
 protected:
  Tensor Rows(int64_t n, int64_t dim) {
    std::vector<float> x(static_cast<size_t>(n * dim));
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& value : x) value = uniform(random_);
    for (int64_t d = 0; d < dim && n > 2; ++d) {  // a constant row, and one of zeros
      x[static_cast<size_t>(dim + d)] = 0.3f;
      x[static_cast<size_t>(2 * dim + d)] = 0;
    }
    return Tensor::From(ctx(), {n, dim}, x);
  }
  std::vector<float> RoundTrip(const RowCodec& codec, const std::vector<float>& row) {
    const Tensor x = Tensor::From(ctx(), {1, static_cast<int64_t>(row.size())}, row);
    return DecodeRows(ctx(), codec, EncodeRows(ctx(), codec, x), x.dim(1)).ToVector<float>();
  }
  // Σ (x − decoded)² of each row.
  std::vector<double> Errors(const RowCodec& codec, const Tensor& x, bool search) {
    const Tensor bytes = EncodeRows(ctx(), codec, x, {.search = search});
    const auto a = x.ToVector<float>(),
               b = DecodeRows(ctx(), codec, bytes, x.dim(1)).ToVector<float>();
    std::vector<double> errors(static_cast<size_t>(x.dim(0)));
    for (size_t i = 0; i < a.size(); ++i)
      errors[i / static_cast<size_t>(x.dim(1))] += std::pow(static_cast<double>(a[i] - b[i]), 2);
    return errors;
  }

 private:
  std::mt19937 random_{3};
};

TEST_P(RowCodecTest, NumbersComeBack) {
  for (const Known& known : kCodecs) {
    const RowCodec codec = ParseRowCodec(std::string(known.name) + "@1");
    const Tensor x = Rows(9, 24);
    const Tensor bytes = EncodeRows(ctx(), codec, x);
    EXPECT_EQ(bytes.shape(), (Shape{9, known.bytes_of_24})) << known.name;
    const auto a = x.ToVector<float>(), b = DecodeRows(ctx(), codec, bytes, 24).ToVector<float>();
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[i], known.tolerance + 1e-7) << known.name << " " << i;
  }
}

// Bytes and numbers are the same with every instruction set, and on the host, at every dim and
// alignment; what is past a row's bytes is 0.
TEST_P(RowCodecTest, BytesDependOnNothingButTheNumbers) {
  Context host({.threads = 1});
  for (const Known& known : kCodecs)
    for (const int64_t dim : {8, 40, 264})
      for (const int64_t alignment : {1, 16}) {
        const RowCodec codec{ParseRowCodec(known.name).type, alignment};
        const Tensor x = Rows(4, dim), x_here = x.ToHost();
        Tensor expected, decoded;
        {
          const testing::ScopedIsa isa(IsaLevel::kBaseline);
          expected = EncodeRows(host, codec, x_here);
          decoded = DecodeRows(host, codec, expected, dim);
        }
        const auto bytes = expected.ToVector<uint8_t>();
        const int64_t row = RowBytes(codec, dim);
        EXPECT_EQ(row % alignment, 0);
        for (int64_t i = 0; i < expected.numel(); ++i) {
          if (i % row < UnpaddedRowBytes(codec, dim)) continue;
          ASSERT_EQ(bytes[static_cast<size_t>(i)], 0) << known.name;
        }
        for (const IsaLevel level : testing::IsaLevels()) {
          if (!on_cpu() && level != testing::IsaLevels().back()) continue;
          const testing::ScopedIsa isa(level);
          const Tensor encoded = EncodeRows(ctx(), codec, x);
          EXPECT_TRUE(SameBits(encoded.ToHost(), expected)) << known.name << " " << dim;
          EXPECT_TRUE(SameBits(DecodeRows(ctx(), codec, encoded, dim).ToHost(), decoded))
              << known.name << " " << dim;
        }
      }
}

TEST_P(RowCodecTest, RowsThatAreColumnsOfATable) {
  const RowCodec codec{RowType::kInt4};
  const Tensor wide = Rows(5, 48), part = wide.Narrow(1, 16, 8);
  EXPECT_TRUE(SameBits(EncodeRows(ctx(), codec, part).ToHost(),
                       EncodeRows(ctx(), codec, part.Clone(ctx())).ToHost()));
}

// For 2 and 4 bits, the searched range gives no row a larger error, and the same bytes come from
// every machine.
TEST_P(RowCodecTest, ASearchedRangeIsBetter) {
  Context host({.threads = 1});
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  std::vector<float> x(16 * 64);
  for (float& value : x) value = normal(random);
  x[3] = 20;  // far out
  const Tensor rows = Tensor::From(ctx(), {16, 64}, x), here = rows.ToHost();
  for (const char* name : {"int2", "int4", "int4_tail"}) {
    const RowCodec codec = ParseRowCodec(name);
    const auto plain = Errors(codec, rows, false), searched = Errors(codec, rows, true);
    double plain_sum = 0, searched_sum = 0;
    for (size_t r = 0; r < plain.size(); ++r) {
      EXPECT_LE(searched[r], plain[r] * (1 + 1e-6)) << name << " row " << r;
      plain_sum += plain[r];
      searched_sum += searched[r];
    }
    EXPECT_LT(searched_sum, 0.9 * plain_sum) << name;
    const Tensor expected = EncodeRows(host, codec, here, {.search = true});
    for (const IsaLevel level : testing::IsaLevels()) {
      const testing::ScopedIsa isa(level);
      EXPECT_TRUE(SameBits(EncodeRows(ctx(), codec, rows, {.search = true}).ToHost(), expected))
          << name;
      if (!on_cpu()) break;
    }
  }
}

TEST_P(RowCodecTest, RowsWithoutARange) {
  const float infinity = std::numeric_limits<float>::infinity(), huge = 3e38f;
  for (const char* name : {"int8", "int4", "int2", "int8_exact", "int8_tail", "int8_f32_tail"}) {
    const RowCodec codec = ParseRowCodec(name);
    for (const float y : RoundTrip(codec, {1, -infinity, 2, 3, 4, 5, 6, 7}))
      EXPECT_TRUE(std::isnan(y)) << name;
    for (const float y : RoundTrip(codec, {1, huge, -huge, 3, 4, 5, 6, 7}))
      EXPECT_TRUE(std::isnan(y)) << name;
    for (const float y : RoundTrip(codec, std::vector<float>(8, 0.0f))) EXPECT_EQ(y, 0) << name;
    for (const float y : RoundTrip(codec, std::vector<float>(8, 1.5f))) EXPECT_EQ(y, 1.5f) << name;
  }
  EXPECT_TRUE(std::isinf(RoundTrip({RowType::kF16}, {1e6f})[0]));
  EXPECT_EQ(RoundTrip({RowType::kHfp8}, {1e6f})[0], 240);
  EXPECT_EQ(RoundTrip({RowType::kE4M3}, {-infinity})[0], -448);
  EXPECT_EQ(RoundTrip({RowType::kE5M2}, {1e6f})[0], 57344);
  EXPECT_TRUE(std::isnan(RoundTrip({RowType::kE4M3}, {std::nanf("")})[0]));
  EXPECT_TRUE(std::isnan(RoundTrip({RowType::kE5M2}, {std::nanf("")})[0]));
}

TEST_P(RowCodecTest, NoRows) {
  const Tensor none = EncodeRows(ctx(), {RowType::kInt8}, Tensor::Empty(ctx(), {0, 8}));
  EXPECT_EQ(none.shape(), (Shape{0, 16}));
  EXPECT_EQ(DecodeRows(ctx(), {RowType::kInt8}, none, 8).shape(), (Shape{0, 8}));
}

TEST_P(RowCodecTest, WhatDoesNotFitIsRefused) {
  const Tensor x = Rows(2, 6);
  const auto encode = [&](const char* codec, const Tensor& rows, EncodeOptions options) {
    return [&, codec, rows, options] { EncodeRows(ctx(), ParseRowCodec(codec), rows, options); };
  };
  EXPECT_THAT(encode("int2", x, {}), ThrowsMessage<Error>(HasSubstr("dim 6; its codes fill")));
  EXPECT_THAT(encode("int4_tail", x, {}), ThrowsMessage<Error>(HasSubstr("multiples of 4 only")));
  EXPECT_THAT(encode("int4", x.Reshape({12}), {}), ThrowsMessage<Error>(HasSubstr("[E, D]")));
  EXPECT_THAT(encode("int8_exact", x, {.search = true}),
              ThrowsMessage<Error>(HasSubstr("no range to search for")));
  EXPECT_THAT([&] { DecodeRows(ctx(), {RowType::kInt8}, x, 6); },
              ThrowsMessage<Error>(HasSubstr("expected u8 [2, 16]")));
}

TESSERA_INSTANTIATE_DEVICES(RowCodecTest);

TEST(RowCodecNameTest, NamesAreReadAsTheyAreWritten) {
  for (const Known& known : kCodecs) {
    EXPECT_EQ(ToString(ParseRowCodec(known.name)), known.name);
    EXPECT_EQ(ParseRowCodec(known.name).alignment, 16);
  }
  EXPECT_EQ(ParseRowCodec("int4@1"), (RowCodec{RowType::kInt4, 1}));
  EXPECT_EQ(ToString(RowCodec{RowType::kF16, 64}), "f16@64");
  for (const char* wrong : {"int3", "int8@", "int8@0", "int8@x", ""})
    EXPECT_THROW(ParseRowCodec(wrong), Error) << wrong;
}

// No product of a row's sizes leaves 63 bits, and no row begins where its numbers may not lie.
TEST(RowCodecNameTest, SizesThatNoRowHasAreRefused) {
  for (const char* wrong :
       {"int8@99999999999999999999", "int8@9223372036854775807", "int8@18446744073709551617",
        "int8@8192", "f32@6", "int8@-16", "int8@ 16", "int8@+16", "int8@16x", "int8@1e2"})
    EXPECT_THAT([&] { ParseRowCodec(wrong); },
                ThrowsMessage<Error>(HasSubstr("a power of two, 1 to 4096")))
        << wrong;
  EXPECT_EQ(ParseRowCodec("int8@4096").alignment, 4096);
  EXPECT_THAT(
      [] {
        RowBytes({RowType::kInt8, INT64_MAX}, 8);
      },
      ThrowsMessage<Error>(HasSubstr("row codec int8: alignment 9223372036854775807")));
  for (const RowType type : {RowType::kF32, RowType::kInt8, RowType::kMx4})
    for (const int64_t dim : {int64_t{1} << 61, (int64_t{1} << 62) + 4, INT64_MAX - 7})
      EXPECT_THAT([&] { RowBytes({type}, dim); }, ThrowsMessage<Error>(HasSubstr(": dim")));
}

TEST(RowLayoutTest, WhereCodesAndParametersLie) {
  const auto at = [](const char* codec) { return LayoutOf(ParseRowCodec(codec), 24); };
  EXPECT_EQ(at("int8").codes_at, 4);
  EXPECT_EQ(at("int8").row_bytes, 32);
  EXPECT_EQ(at("int8").used_bytes, 28);
  EXPECT_EQ(at("int2_tail").params_at, 6);
  EXPECT_EQ(at("int8_f32").codes_at, 8);
  EXPECT_TRUE(at("int8_f32_tail").f32_params);
  EXPECT_EQ(at("int8_f32_tail").params_at, 24);
}

}  // namespace
}  // namespace tessera
