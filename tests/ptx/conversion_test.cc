// cvt beside C++'s conversions and the project's 16-bit floats.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/numbers/float16.h"
#include "tests/ptx/run_ptx.h"

namespace tessera::testing {
namespace {

using internal::FloatToHalfBits;
using internal::HalfBitsToFloat;

// The nearest integer that T has; NaN becomes `nan`.
template <typename T>
T Clamped(double x, T nan) {
  if (std::isnan(x)) return nan;
  using Limits = std::numeric_limits<T>;
  if (x >= std::ldexp(1.0, Limits::digits)) return Limits::max();
  return x <= static_cast<double>(Limits::min()) ? Limits::min() : static_cast<T>(x);
}

TEST(Conversion, BetweenIntegers) {
  ExpectTwin<uint64_t, uint32_t>("cvt.u64.u32 %r, %a;", [](uint32_t a) { return uint64_t{a}; });
  ExpectTwin<int64_t, int32_t>("cvt.s64.s32 %r, %a;", [](int32_t a) { return int64_t{a}; });
  ExpectTwin<uint32_t, uint64_t>("cvt.u32.u64 %r, %a;", [](uint64_t a) { return uint32_t(a); });
  ExpectTwin<int32_t, uint32_t>("cvt.s32.s8 %r, %a;",
                                [](uint32_t a) { return int32_t{int8_t(a)}; });
  ExpectTwin<uint16_t, uint32_t>("cvt.u16.u32 %r, %a;", [](uint32_t a) { return uint16_t(a); });
  ExpectTwin<uint32_t, int32_t>("cvt.sat.u8.s32 %r, %a;",
                                [](int32_t a) { return uint32_t(std::clamp(a, 0, 255)); });
}

TEST(Conversion, FloatsToIntegersAreClamped) {
  ExpectTwin<int32_t, float>("cvt.rzi.s32.f32 %r, %a;", [](float a) { return Clamped(a, 0); });
  ExpectTwin<uint32_t, float>("cvt.rni.u32.f32 %r, %a;",
                              [](float a) { return Clamped(std::nearbyint(a), 0u); });
  ExpectTwin<int32_t, float>("cvt.rmi.s32.f32 %r, %a;",
                             [](float a) { return Clamped(std::floor(a), 0); });
  ExpectTwin<int64_t, double>("cvt.rpi.s64.f64 %r, %a;", [](double a) {
    return Clamped(std::ceil(a), std::numeric_limits<int64_t>::min());
  });
}

TEST(Conversion, IntegersToFloats) {
  ExpectTwin<float, int64_t>("cvt.rn.f32.s64 %r, %a;", [](int64_t a) { return float(a); });
  ExpectTwin<float, uint64_t>("cvt.rn.f32.u64 %r, %a;", [](uint64_t a) { return float(a); });
  ExpectTwin<double, uint32_t>("cvt.rn.f64.u32 %r, %a;", [](uint32_t a) { return double(a); });
  ExpectTwin<float, uint32_t>("cvt.rz.f32.u32 %r, %a;", [](uint32_t a) {
    float x = static_cast<float>(a);
    if (double(x) > double(a)) x = std::nextafter(x, 0.0f);
    return x;
  });
}

TEST(Conversion, BetweenFloats) {
  ExpectTwin<double, float>("cvt.f64.f32 %r, %a;", [](float a) { return double{a}; });
  ExpectTwin<float, double>("cvt.rn.f32.f64 %r, %a;", [](double a) { return float(a); });
  ExpectTwin<float, float>("cvt.rni.f32.f32 %r, %a;", [](float a) { return std::nearbyint(a); });
  ExpectTwin<double, double>("cvt.rmi.f64.f64 %r, %a;", [](double a) { return std::floor(a); });
}

// All 2^16 bits of each kind of 16-bit float, and numbers between them.

TEST(Conversion, AllSixteenBitFloatsWiden) {
  const InterpretedArray<float> half(std::vector<float>(65536)), brain(std::vector<float>(65536));
  RunBody(R"( .reg .b16 %h; .reg .b32 %x;
    cvt.u16.u64 %h, %index;
    shl.b64 %index, %index, 2;
    add.u64 %p0, %p0, %index;
    add.u64 %p1, %p1, %index;
    cvt.f32.f16 %x, %h;
    st.global.f32 [%p0], %x;
    cvt.f32.bf16 %x, %h;
    st.global.f32 [%p1], %x;)",
          {half.address(), brain.address()}, {{2048}});
  const std::vector<float> halves = half.Values(), brains = brain.Values();
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float want = HalfBitsToFloat(static_cast<uint16_t>(bits));
    if (!std::isnan(want)) {
      ASSERT_EQ(BitsOf(halves[bits]), BitsOf(want)) << bits;
    }
    if (!std::isnan(brains[bits])) {
      ASSERT_EQ(BitsOf(brains[bits]), uint64_t{bits} << 16);
    }
  }
}

TEST(Conversion, FloatsNarrowToNearest) {
  std::vector<float> values;
  std::mt19937 random(5);
  for (int k = 0; k < 1 << 15; ++k)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  // Around each half: ties, and what is just beside them.
  for (uint32_t bits = 0; bits < 0x7c00; bits += 5) {
    const float x = HalfBitsToFloat(static_cast<uint16_t>(bits)),
                y = HalfBitsToFloat(static_cast<uint16_t>(bits + 1));
    for (const float tie : {x, (x + y) / 2, std::nextafter((x + y) / 2, 0.0f)})
      values.push_back(-tie);
  }
  values.resize(values.size() / 32 * 32);
  const InterpretedArray<float> in(values);
  const InterpretedArray<uint32_t> out(std::vector<uint32_t>(values.size()));
  RunBody(R"( .reg .b16 %h, %g; .reg .b32 %x;
    shl.b64 %index, %index, 2;
    add.u64 %p0, %p0, %index;
    add.u64 %p1, %p1, %index;
    ld.global.f32 %x, [%p0];
    cvt.rn.f16.f32 %h, %x;
    cvt.rn.bf16.f32 %g, %x;
    mov.b32 %x, {%h, %g};
    st.global.u32 [%p1], %x;)",
          {in.address(), out.address()}, {{static_cast<uint32_t>(values.size() / 32)}});
  const std::vector<uint32_t> got = out.Values();
  for (size_t k = 0; k < values.size(); ++k) {
    if (std::isnan(values[k])) continue;
    ASSERT_EQ(got[k] & 0xffff, FloatToHalfBits(values[k])) << values[k];
    ASSERT_EQ(got[k] >> 16, BFloat16(values[k]).bits) << values[k];
  }
}

TEST(Conversion, PairsOfSixteenBitFloats) {
  ExpectTwin<uint32_t, float, float>("cvt.rn.bf16x2.f32 %r, %a, %b;", [](float a, float b) {
    const auto bits = [](float x) { return std::isnan(x) ? 0x7fffu : BFloat16(x).bits; };
    return uint32_t{bits(a)} << 16 | bits(b);
  });
}

}  // namespace
}  // namespace tessera::testing
