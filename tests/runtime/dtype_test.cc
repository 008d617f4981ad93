#include "runtime/numbers/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

// The value of a half by its definition.
double Meaning(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31)
    return fraction ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  return sign *
         (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

TEST(Half, EveryValueWidensExactlyAndComesBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const Half h = Half::FromBits(static_cast<uint16_t>(bits));
    const float wide = static_cast<float>(h);
    if (std::isnan(wide)) {
      ASSERT_TRUE(std::isnan(Meaning(h.bits))) << bits;
      ASSERT_EQ(Half(wide).bits, bits | 0x200) << "made quiet";
      continue;
    }
    ASSERT_EQ(static_cast<double>(wide), Meaning(h.bits)) << bits;
    ASSERT_EQ(Half(wide).bits, h.bits) << bits;
  }
}

TEST(Half, RoundsToNearestTiesToEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const double low = Meaning(static_cast<uint16_t>(bits)),
                 high = Meaning(static_cast<uint16_t>(bits + 1)), middle = (low + high) / 2;
    const auto tie = static_cast<float>(middle);
    ASSERT_EQ(static_cast<double>(tie), middle);
    ASSERT_EQ(Half(tie).bits, bits + (bits & 1)) << bits;
    ASSERT_EQ(Half(std::nextafter(tie, 1e9f)).bits, bits + 1) << bits;
    ASSERT_EQ(Half(std::nextafter(tie, -1e9f)).bits, bits) << bits;
  }
  EXPECT_EQ(Half(65519.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(-1e30f).bits, 0xfc00);
}

TEST(BFloat16, IsTheUpperHalfOfAFloat) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float wide = static_cast<float>(BFloat16::FromBits(static_cast<uint16_t>(bits)));
    ASSERT_EQ(std::bit_cast<uint32_t>(wide), bits << 16);
    ASSERT_EQ(BFloat16(wide).bits, std::isnan(wide) ? bits | 0x40 : bits);
  }
}

TEST(BFloat16, RoundsToNearestTiesToEvenAndKeepsNaN) {
  const auto bits_of = [](uint32_t bits) {
    return uint32_t{BFloat16(std::bit_cast<float>(bits)).bits};
  };
  for (const uint32_t sign : {0u, 0x8000u}) {
    for (uint32_t magnitude = 0; magnitude < 0x7f80; ++magnitude) {
      const uint32_t upper = sign | magnitude, tie = upper << 16 | 0x8000;
      ASSERT_EQ(bits_of(tie - 1), upper);
      ASSERT_EQ(bits_of(tie), upper + (upper & 1));
      ASSERT_EQ(bits_of(tie + 1), upper + 1);
    }
  }
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_EQ(bits_of(0xffffffffu), 0xffffu);
}

TEST(DType, NamesAndSizes) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,
                            DType::kU8, DType::kI16, DType::kI32, DType::kI64, DType::kBool}) {
    EXPECT_EQ(ParseDType(ToString(dtype)), dtype);
    EXPECT_EQ(VisitDType(dtype, []<typename T>() { return static_cast<int64_t>(sizeof(T)); }),
              SizeOf(dtype));
    EXPECT_EQ(VisitDType(dtype, []<typename T>() { return DTypeOf<T>::value; }), dtype);
  }
  EXPECT_THROW(ParseDType("f31"), Error);
  EXPECT_THROW(VisitIndexType(DType::kF32, "ids", []<typename>() {}), Error);
}

}  // namespace
}  // namespace tessera
