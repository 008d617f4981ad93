#include "quant/wire_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "tests/testing/comma_locale.h"
#include "tests/testing/devices.h"
#include "tests/testing/isa_levels.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::vector<std::string> kCodecs = {"fp32", "fp16",     "fp16*32",     "bf16", "bf16*8",
                                          "fp8",  "fp8_rows", "fp8_rows_e5", "int8", "mx4"};

class WireCodecTest : public testing::DeviceTest {
 protected:
  // Rows of several magnitudes; some constant, some of zeros of either sign.
  Tensor Rows(int64_t n, int64_t dim, float spread = 1.0f) {
    std::vector<float> x(static_cast<size_t>(n * dim));
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < x.size(); ++i) {
      const int64_t row = static_cast<int64_t>(i) / dim;
      x[i] = normal(random_) * spread * std::exp2(static_cast<float>(row % 7 - 3));
      if (row % 5 == 3) x[i] = 0.25f;
      if (row % 5 == 4) x[i] = i % 2 == 0 ? 0.0f : -0.0f;
    }
    return Tensor::From(ctx(), {n, dim}, x);
  }
  std::vector<float> RoundTrip(const WireCodec& codec, const Tensor& rows) {
    return Decode(ctx(), codec, Encode(ctx(), codec, rows), rows.shape()).ToVector<float>();
  }
  std::vector<float> RoundTripRow(const std::string& codec, const std::vector<float>& row) {
    const auto n = static_cast<int64_t>(row.size());
    return RoundTrip(ParseWireCodec(codec), Tensor::From(ctx(), {1, n}, row));
  }

 private:
  std::mt19937 random_{5};
};

// The largest distance from x at which a number may come back; m is the row's largest magnitude.
double Tolerance(const std::string& codec, double x, double m) {
  const double a = std::abs(x);
  if (codec == "fp32") return 0;
  if (codec.starts_with("fp16")) return std::max(a * 0x1p-10, 0x1p-24);
  if (codec.starts_with("bf16")) return std::max(a * 0x1p-7, 1e-38);
  if (codec == "fp8") return a > 0.9375 ? a - 0.9375 : std::max(a * 0x1p-4, 0x1p-18);
  if (codec == "fp8_rows") return std::max(a * 0x1p-4, m * 0x1p-17) * 1.00001;
  if (codec == "fp8_rows_e5") return std::max(a * 0x1p-3, m * 0x1p-30) * 1.00001;
  if (codec == "int8") return 2 * m / 255 * 0.50001 + m * 1e-6;
  return m / 4;  // mx4: the last step of the grid is 2 of 6, and m may be cut from 7
}

TEST_P(WireCodecTest, NumbersComeBackWithinTheFormatsError) {
  for (const std::string& name : kCodecs)
    for (const int64_t dim : {1, 3, 16, 31, 32, 33, 100}) {
      const Tensor rows = Rows(9, dim, name == "fp8" ? 0.05f : 1.0f);
      const auto x = rows.ToVector<float>(), y = RoundTrip(ParseWireCodec(name), rows);
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t first = i - i % static_cast<size_t>(dim);
        float m = 0;
        for (int64_t d = 0; d < dim; ++d)
          m = std::max(m, std::abs(x[first + static_cast<size_t>(d)]));
        ASSERT_NEAR(x[i], y[i], Tolerance(name, x[i], m)) << name << " dim " << dim << " at " << i;
      }
    }
}

TEST_P(WireCodecTest, SizesAreAsSaid) {
  const auto bytes = [&](const std::string& name, int64_t dim) {
    const WireCodec codec = ParseWireCodec(name);
    const int64_t size = Encode(ctx(), codec, Rows(3, dim)).numel();
    EXPECT_EQ(size, EncodedBytes(codec, 3 * dim, dim));
    EXPECT_EQ(size % 3, 0);
    return size / 3;
  };
  EXPECT_EQ(bytes("fp32", 5), 20);
  EXPECT_EQ(bytes("fp16*2", 5), 10);
  EXPECT_EQ(bytes("bf16", 5), 10);
  EXPECT_EQ(bytes("fp8", 5), 5);
  EXPECT_EQ(bytes("fp8_rows", 5), 16);
  EXPECT_EQ(bytes("fp8_rows_e5", 8), 16);
  EXPECT_EQ(bytes("int8", 5), 13);
  EXPECT_EQ(bytes("mx4", 5), 4);
  EXPECT_EQ(bytes("mx4", 32), 17);
  EXPECT_EQ(bytes("mx4", 64), 34);
  EXPECT_EQ(bytes("mx4", 65), 36);
}

// The bytes of the host's plainest instruction set are those of every other, and of a GPU.
TEST_P(WireCodecTest, SameBytesEverywhere) {
  Context host({.threads = 1});
  for (const std::string& name : kCodecs)
    for (const int64_t dim : {1, 7, 16, 33, 64, 129}) {
      const WireCodec codec = ParseWireCodec(name);
      const Tensor rows = Rows(11, dim);
      const Tensor on_host = rows.ToHost();
      Tensor bytes, decoded;
      {
        const testing::ScopedIsa isa(IsaLevel::kBaseline);
        bytes = Encode(host, codec, on_host);
        decoded = Decode(host, codec, bytes, rows.shape());
      }
      for (const IsaLevel level : testing::IsaLevels()) {
        const testing::ScopedIsa isa(level);
        const Tensor encoded = Encode(ctx(), codec, rows);
        EXPECT_TRUE(SameBits(encoded.ToHost(), bytes)) << name << " " << dim;
        EXPECT_TRUE(SameBits(Decode(ctx(), codec, encoded, rows.shape()).ToHost(), decoded))
            << name << " " << dim;
      }
    }
}

TEST_P(WireCodecTest, BlocksOfColumnsShareABuffer) {
  for (const std::string& name : kCodecs) {
    const WireCodec codec = ParseWireCodec(name);
    const Tensor pooled = Rows(6, 40), back = Tensor::Zeros(ctx(), {6, 40});
    const std::vector<std::array<int64_t, 4>> blocks = {
        {0, 6, 0, 8}, {0, 2, 8, 32}, {2, 6, 8, 32}, {3, 3, 0, 8}};
    std::vector<WireSegment> from, to;
    int64_t size = 4;
    for (const auto& [first, last, column, width] : blocks) {
      from.push_back({pooled.Rows(first, last).Narrow(1, column, width), size});
      to.push_back({back.Rows(first, last).Narrow(1, column, width), size});
      size += (EncodedBytes(codec, (last - first) * width, width) + 3) / 4 * 4;
    }
    const Tensor bytes = Tensor::Full(ctx(), {size + 4}, 7, DType::kU8);
    EncodeSegments(ctx(), codec, from, bytes);
    DecodeSegments(ctx(), codec, bytes, to);
    for (const auto& [first, last, column, width] : blocks) {
      const Tensor block = pooled.Rows(first, last).Narrow(1, column, width).Clone(ctx());
      EXPECT_EQ(RoundTrip(codec, block),
                back.Rows(first, last).Narrow(1, column, width).Clone(ctx()).ToVector<float>())
          << name;
    }
    const auto whole = bytes.ToVector<uint8_t>();
    for (const size_t outside : {0, 1, 2, 3}) {
      EXPECT_EQ(whole[outside], 7);
      EXPECT_EQ(whole[whole.size() - 1 - outside], 7);
    }
  }
}

TEST_P(WireCodecTest, MoreSegmentsThanALaunchTakes) {
  const Tensor rows = Rows(150, 8), back = Tensor::Zeros(ctx(), {150, 8});
  for (const std::string name : {"int8", "fp16"}) {
    const WireCodec codec = ParseWireCodec(name);
    std::vector<WireSegment> from, to;
    const int64_t row_bytes = EncodedBytes(codec, 8, 8);
    for (int64_t r = 0; r < 150; ++r) {
      from.push_back({rows.Rows(r, r + 1), (149 - r) * row_bytes});
      to.push_back({back.Rows(r, r + 1), (149 - r) * row_bytes});
    }
    const Tensor bytes = Tensor::Empty(ctx(), {150 * row_bytes}, DType::kU8);
    EncodeSegments(ctx(), codec, from, bytes);
    DecodeSegments(ctx(), codec, bytes, to);
    EXPECT_EQ(RoundTrip(codec, rows), back.ToVector<float>());
  }
}

TEST_P(WireCodecTest, ManyRowsInPieces) {
  for (const std::string name : {"int8", "bf16", "mx4"}) {
    const WireCodec codec = ParseWireCodec(name);
    const int64_t n = on_cpu() ? 5000 : 300;
    const Tensor rows = Rows(n, 48);
    const auto y = RoundTrip(codec, rows);
    const auto last = RoundTrip(codec, rows.Rows(n - 1, n));
    EXPECT_EQ(std::vector<float>(y.end() - 48, y.end()), last);
  }
}

TEST_P(WireCodecTest, NumbersBeyondTheFormat) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(RoundTripRow("fp16", {1e6f, -infinity})[0], 65504);
  EXPECT_EQ(RoundTripRow("fp16", {1e6f, -infinity})[1], -65504);
  EXPECT_EQ(RoundTripRow("bf16", {infinity})[0], 0x1.fep127f);
  EXPECT_EQ(RoundTripRow("fp8", {-7.0f})[0], -0.9375f);
  // A loss scale moves numbers that would be lost into the range of a half.
  EXPECT_EQ(RoundTripRow("fp16", {1e-9f})[0], 0);
  EXPECT_NEAR(RoundTripRow("fp16*8", {1e-7f})[0], 1e-7f, 0x1p-25);
}

TEST_P(WireCodecTest, ANaNIsNotLost) {
  const float nan = std::nanf("");
  const std::vector<float> row = {1, nan, 2, -nan};
  for (const std::string name : {"fp32", "fp16", "fp16*4", "bf16", "bf16*4"}) {
    const auto y = RoundTripRow(name, row);
    EXPECT_TRUE(y[0] == 1 && std::isnan(y[1]) && y[2] == 2 && std::isnan(y[3])) << name;
  }
  for (const std::string name : {"int8", "fp8_rows", "fp8_rows_e5"})
    for (const float y : RoundTripRow(name, row)) EXPECT_TRUE(std::isnan(y)) << name;
  EXPECT_EQ(RoundTripRow("fp8", row)[1], 0.9375f);
  EXPECT_EQ(RoundTripRow("mx4", row)[1], 6 * 0x1p125f);
}

TEST_P(WireCodecTest, ShapesAndNothing) {
  for (const std::string& name : kCodecs) {
    const WireCodec codec = ParseWireCodec(name);
    const Tensor cube = Rows(6, 4).Reshape({2, 3, 4});
    const Tensor back = Decode(ctx(), codec, Encode(ctx(), codec, cube), cube.shape());
    EXPECT_EQ(back.shape(), cube.shape());
    EXPECT_EQ(back.ToVector<float>(), RoundTrip(codec, cube.Reshape({6, 4})));
    for (const Shape& empty : {Shape{0, 8}, Shape{3, 0}, Shape{0}}) {
      const Tensor none = Encode(ctx(), codec, Tensor::Empty(ctx(), empty));
      EXPECT_EQ(none.shape(), Shape{0});
      EXPECT_EQ(Decode(ctx(), codec, none, empty).shape(), empty);
    }
  }
}

TEST_P(WireCodecTest, Fp32CopiesNothing) {
  const Tensor rows = Rows(3, 4);
  const Tensor bytes = Encode(ctx(), {}, rows);
  EXPECT_EQ(bytes.raw_data(), rows.raw_data());
  EXPECT_EQ(Decode(ctx(), {}, bytes, {3, 4}).raw_data(), rows.raw_data());
}

TEST_P(WireCodecTest, WhatDoesNotFitIsRefused) {
  const Tensor rows = Rows(2, 4);
  const WireCodec fp16{WireType::kFp16}, int8{WireType::kInt8};
  const Tensor bytes = Tensor::Zeros(ctx(), {17}, DType::kU8);
  EXPECT_THAT(
      [&] {
        EncodeSegments(ctx(), int8, {{rows, 0}}, bytes);
      },
      ThrowsMessage<Error>(HasSubstr("a segment of 24 bytes at 0 in a buffer of 17")));
  EXPECT_THAT(
      [&] {
        EncodeSegments(ctx(), fp16, {{rows, 1}}, bytes);
      },
      ThrowsMessage<Error>(HasSubstr("at byte 1; expected a multiple of 2")));
  EXPECT_THAT(
      [&] {
        EncodeSegments(ctx(), fp16, {{rows.Reshape({8}), 0}}, bytes);
      },
      ThrowsMessage<Error>(HasSubstr("expected f32 [n, D]")));
  EXPECT_THAT([&] { Encode(ctx(), fp16, bytes); }, ThrowsMessage<Error>(HasSubstr("u8")));
  EXPECT_THAT(
      [&] {
        Decode(ctx(), fp16, bytes, {2, 4});
      },
      ThrowsMessage<Error>(HasSubstr("expected u8 [16]")));
  EXPECT_THAT(
      [&] {
        Encode(ctx(), {WireType::kInt8, 2}, rows);
      },
      ThrowsMessage<Error>(HasSubstr("only fp16 and bf16 take a loss scale")));
}

TESSERA_INSTANTIATE_DEVICES(WireCodecTest);

TEST(WireCodecNameTest, NamesAreReadAsTheyAreWritten) {
  for (const std::string& name : kCodecs) EXPECT_EQ(ToString(ParseWireCodec(name)), name);
  EXPECT_EQ(ParseWireCodec("fp16*32"), (WireCodec{WireType::kFp16, 32}));
  for (const std::string name : {"fp32", "fp16/bf16", "fp8_rows", "int8/fp16*2", "fp8_rows/int8",
                                 "fp16/fp16/bf16", "fp32/fp32/int8"})
    EXPECT_EQ(ToString(ParseWireCodecs(name)), name);
  EXPECT_EQ(ParseWireCodecs("fp8_rows").backward.type, WireType::kFp8RowsE5);
  EXPECT_EQ(ToString(WireCodecs{{WireType::kFp8Rows}, {WireType::kFp8Rows}}), "fp8_rows/fp8_rows");
  EXPECT_EQ(ParseWireCodecs("fp8_rows/fp8_rows").backward.type, WireType::kFp8Rows);
}

TEST(WireCodecNameTest, NumbersKnowNoLocale) {
  const testing::CommaLocale comma(::testing::TempDir());
  EXPECT_EQ(ParseWireCodec("fp16*0.5"), (WireCodec{WireType::kFp16, 0.5}));
}

TEST(WireCodecNameTest, OthersAreRefused) {
  const auto refuses = [](const std::string& name, const std::string& why) {
    EXPECT_THAT([&] { ParseWireCodecs(name); }, ThrowsMessage<Error>(HasSubstr(why))) << name;
  };
  refuses("int7", "unknown wire codec 'int7'; there are fp32, fp16, bf16, fp8, fp8_rows");
  refuses("fp16*", "expected a number after '*'");
  refuses("fp16*2x", "expected a number after '*'");
  refuses("fp16* 2", "expected a number after '*'");
  refuses("fp16*0", "positive loss scale");
  refuses("fp16*inf", "positive loss scale");
  refuses("int8*2", "only fp16 and bf16");
  refuses("fp16/", "unknown wire codec ''");
}

TEST(WireCodecNameTest, SizesOfBrokenRowsAreRefused) {
  EXPECT_THAT([] { EncodedBytes({}, 7, 2); }, ThrowsMessage<Error>(HasSubstr("whole rows")));
  EXPECT_EQ(EncodedBytes({}, 0, 0), 0);
}

TEST(TorchRecFallbackTest, OnlyWhereItIsAskedFor) {
  const WireCodecs asked = ParseWireCodecs("mx4/bf16*8");
  EXPECT_EQ(TorchRecFallback(asked, DeviceType::kCuda, WireUse::kPooledAllToAll), asked);
  EXPECT_EQ(ToString(TorchRecFallback(asked, DeviceType::kCpu, WireUse::kPooledReduceScatter)),
            "fp16/fp16*8");
}

}  // namespace
}  // namespace tessera
