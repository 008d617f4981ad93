// The number formats, against tables of all their values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "quant/affine_row.h"
#include "quant/hfp8.h"
#include "quant/mx4.h"
#include "quant/ocp_fp8.h"

namespace tessera {
namespace {

constexpr Hfp8 kFormats[] = {
    {4, 7, 240}, {4, 15, 0.9375f}, {5, 15, 57344}, {5, 31, 0.875f}, {3, 3, 31}};

double Hfp8Value(const Hfp8& format, int code) {
  const int fraction_bits = 7 - format.exponent_bits;
  const int exponent = (code & 127) >> fraction_bits;
  const double fraction = (code & ((1 << fraction_bits) - 1)) / std::exp2(fraction_bits);
  const double magnitude = exponent == 0 ? fraction * std::exp2(1 - format.bias)
                                         : (1 + fraction) * std::exp2(exponent - format.bias);
  return code < 128 ? magnitude : -magnitude;
}

// The code of the nearest value up to max_pos; of two as near, the even one.
int NearestHfp8(const Hfp8& format, double magnitude) {
  int best = 0;
  double best_distance = std::numeric_limits<double>::infinity();
  for (int code = 0; code < 128 && Hfp8Value(format, code) <= format.max_pos; ++code) {
    const double distance = std::abs(Hfp8Value(format, code) - magnitude);
    if (distance < best_distance || (distance == best_distance && code % 2 == 0)) {
      best = code;
      best_distance = distance;
    }
  }
  return best;
}

TEST(Hfp8Test, DecodesEveryCode) {
  for (const Hfp8& format : kFormats)
    for (int code = 0; code < 256; ++code)
      ASSERT_EQ(format.Decode(static_cast<uint32_t>(code)), Hfp8Value(format, code)) << code;
}

TEST(Hfp8Test, EncodesToTheNearestValue) {
  std::mt19937 random(1);
  for (const Hfp8& format : kFormats) {
    std::vector<float> xs = {0.0f, 1e-40f, 1e-30f, 1e30f, format.max_pos};
    for (int code = 0; code < 127; ++code) {  // midpoints, and their neighbours
      const auto middle =
          static_cast<float>((Hfp8Value(format, code) + Hfp8Value(format, code + 1)) / 2);
      xs.insert(xs.end(), {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e30f)});
    }
    std::normal_distribution<float> normal(0.0f, format.max_pos);
    for (int i = 0; i < 1000; ++i) xs.push_back(std::abs(normal(random)));
    for (const float x : xs) {
      const double kept = std::min<double>(x, format.max_pos);
      const int expected = NearestHfp8(format, kept);
      ASSERT_EQ(format.Encode(x), expected) << x;
      ASSERT_EQ(format.Encode(-x), expected | 128) << x;
    }
  }
}

TEST(Hfp8Test, WhatIsNoNumberBecomesTheLargest) {
  const Hfp8 format{4, 7, 240};
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  EXPECT_EQ(format.Encode(infinity), 0x77);
  EXPECT_EQ(format.Encode(-infinity), 0xf7);
  EXPECT_EQ(format.Encode(nan), 0x77);
  EXPECT_EQ(format.Encode(-nan), 0x77);
  EXPECT_EQ(format.Encode(-0.0f), 0x80);
}

TEST(Mx4Test, RoundsToTheNearestOfItsGrid) {
  constexpr double kGrid[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (const uint32_t byte : {0u, 1u, 100u, 127u, 200u, 252u}) {
    const double unit = std::exp2(static_cast<double>(byte) - 127);
    for (double z = 0; z < 8; z += 1.0 / 64) {
      int expected = 0;  // of two as near, the larger
      for (int i = 1; i < 8; ++i)
        if (std::abs(kGrid[i] - z) <= std::abs(kGrid[expected] - z)) expected = i;
      const uint32_t code = Mx4Encode(static_cast<float>(z * unit), byte);
      ASSERT_EQ(code, static_cast<uint32_t>(expected)) << z << " at " << byte;
      ASSERT_EQ(Mx4Decode(code, byte), kGrid[expected] * unit);
      ASSERT_EQ(Mx4Decode(code | 8, byte), -kGrid[expected] * unit);
    }
  }
  EXPECT_FALSE(std::signbit(Mx4Decode(8, 127)));
}

TEST(Mx4Test, ExponentOfAGroup) {
  const auto byte = [](float largest) { return Mx4ExponentByte(std::bit_cast<uint32_t>(largest)); };
  EXPECT_EQ(byte(0), 0u);
  EXPECT_EQ(byte(1), 125u);
  EXPECT_EQ(byte(1.75f), 125u);
  EXPECT_EQ(byte(std::nextafter(1.75f, 2.0f)), 126u);
  EXPECT_EQ(byte(6), 127u);
  EXPECT_EQ(byte(1e-45f), 0u);
  EXPECT_EQ(byte(std::numeric_limits<float>::max()), 252u);
  EXPECT_EQ(byte(std::numeric_limits<float>::infinity()), 252u);
}

TEST(Mx4Test, RoundingsOfAGroupsExponent) {
  const auto field = [](float largest, Mx4Rounding rounding) {
    return static_cast<int>(Mx4ExponentByte(std::bit_cast<uint32_t>(largest), rounding)) - 125;
  };
  for (const float m : {1.0f, 1.2f, 1.4f, 1.42f, 1.5f, 1.75f, 1.76f, 1.99f}) {
    EXPECT_EQ(field(m, Mx4Rounding::kFloor), 0) << m;
    EXPECT_EQ(field(m, Mx4Rounding::kCeil), m > 1 ? 1 : 0) << m;
    EXPECT_EQ(field(m, Mx4Rounding::kNearest), std::log2(m) >= 0.5f ? 1 : 0) << m;
    EXPECT_EQ(field(m, Mx4Rounding::kEven), m > 1.75f ? 1 : 0) << m;
  }
  EXPECT_EQ(field(1.41421354f, Mx4Rounding::kNearest), 0);  // the floats on either side of √2
  EXPECT_EQ(field(1.41421366f, Mx4Rounding::kNearest), 1);
}

// All codes of the two formats, by their definition.
double OcpValue(int exponent_bits, int bias, int code) {
  return Hfp8Value({exponent_bits, bias, 0}, code);
}

template <typename Format>
void ExpectOcp(int exponent_bits, int bias, int largest) {
  for (int code = 0; code <= largest; ++code) {
    const auto value = static_cast<float>(OcpValue(exponent_bits, bias, code));
    ASSERT_EQ(Format::Decode(static_cast<uint32_t>(code)), value) << code;
    ASSERT_EQ(Format::Decode(static_cast<uint32_t>(code | 128)), -value) << code;
    ASSERT_EQ(Format::Encode(value), code);
    ASSERT_EQ(Format::Encode(-value), code | 128);
    if (code == largest) continue;
    const auto middle = static_cast<float>(
        (static_cast<double>(value) + OcpValue(exponent_bits, bias, code + 1)) / 2);
    ASSERT_EQ(Format::Encode(middle), code + code % 2);
    ASSERT_EQ(Format::Encode(std::nextafter(middle, 0.0f)), code);
  }
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Format::Encode(infinity), largest);
  EXPECT_EQ(Format::Encode(-1e30f), largest | 128);
  EXPECT_TRUE(std::isnan(Format::Decode(Format::Encode(std::nanf("")))));
}

TEST(OcpFp8Test, EveryCode) {
  ExpectOcp<E4M3>(4, 7, 0x7e);
  ExpectOcp<E5M2>(5, 15, 0x7b);
  EXPECT_EQ(E4M3::Decode(0x7e), 448);
  EXPECT_TRUE(std::isnan(E4M3::Decode(0xff)));
  EXPECT_TRUE(std::isinf(E5M2::Decode(0x7c)));
}

TEST(ValueRangeTest, OrderDoesNotMatter) {
  const float nan = std::nanf("");
  ValueRange a, b, c;
  for (const float x : {0.0f, -0.0f, 3.0f}) a.Add(x);
  for (const float x : {-0.0f, 3.0f, 0.0f}) b.Add(x);
  for (const float x : {1.0f, nan, 2.0f}) c.Add(x);
  EXPECT_TRUE(std::signbit(a.min()) && std::signbit(b.min()));
  EXPECT_EQ(a.max(), 3.0f);
  EXPECT_EQ(c.min(), 1.0f);
  EXPECT_TRUE(std::isnan(c.max()));
}

TEST(AffineRowTest, ConstantRowsAndRangesThatOverflow) {
  ValueRange constant, infinite;
  constant.Add(2.5f);
  const AffineRow row = AffineRow::Fused8(constant.min(), constant.max());
  EXPECT_EQ(row.scale, 0.0f);
  EXPECT_EQ(row.Code(2.5f, 255), 0u);
  EXPECT_EQ(row.Value(0), 2.5f);
  infinite.Add(-3e38f);
  infinite.Add(3e38f);
  const AffineRow wide = AffineRow::Fused8(infinite.min(), infinite.max());
  EXPECT_EQ(wide.Code(3e38f, 255), 0u);
  EXPECT_TRUE(std::isnan(wide.Value(0)));
}

TEST(AffineRowTest, ParametersThatAreHalves) {
  const auto of = [](float low, float high, float top) {
    return AffineRow::Halves(low, high, top, AffineRow::ToHalf());
  };
  EXPECT_EQ(of(-1, 2, 15).scale, static_cast<float>(Half(0.2f)));
  EXPECT_EQ(of(-1, 2, 15).bias, -1);
  EXPECT_EQ(of(3, 3, 15).scale, 1);
  EXPECT_EQ(of(0, 7e-8f, 15).scale, 1);  // it would be 0 as a half
  // A constant that is no half: the scale makes up for the bias' rounding, with its sign.
  const AffineRow constant = of(0.1f, 0.1f, 255);
  EXPECT_NEAR(constant.Value(constant.Code(0.1f, 255)), 0.1f, 2e-7f);
  EXPECT_TRUE(std::isnan(of(-1e30f, 1e30f, 3).Value(0)));
}

}  // namespace
}  // namespace tessera
