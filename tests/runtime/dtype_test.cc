#include "runtime/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

Half HalfOf(uint16_t bits) {
  Half h;
  h.bits = bits;
  return h;
}

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
    const Half h = HalfOf(static_cast<uint16_t>(bits));
    const float wide = static_cast<float>(h);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Half(wide))));
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

TEST(BFloat16, RoundsToNearestTiesToEvenAndKeepsNaN) {
  const auto bits_of = [](uint32_t bits) { return BFloat16(std::bit_cast<float>(bits)).bits; };
  EXPECT_EQ(bits_of(0x3f808000), 0x3f80);
  EXPECT_EQ(bits_of(0x3f808001), 0x3f81);
  EXPECT_EQ(bits_of(0x3f818000), 0x3f82);
  EXPECT_EQ(bits_of(0x7f7fffff), 0x7f80);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0x7f800001u)))));
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
