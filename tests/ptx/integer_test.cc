// Arithmetic on integers, beside C++'s.
#include <algorithm>
#include <cstdint>

#include "tests/ptx/run_ptx.h"

namespace tessera::testing {
namespace {

using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

TEST(Integer, SumsWrap) {
  ExpectTwin<u32, u32, u32>("add.u32 %r, %a, %b;", [](u32 a, u32 b) { return a + b; });
  ExpectTwin<u64, u64, u64>("add.s64 %r, %a, %b;", [](u64 a, u64 b) { return a + b; });
  ExpectTwin<u16, u16, u16>("sub.s16 %r, %a, %b;", [](u16 a, u16 b) { return u16(a - b); });
  ExpectTwin<u64, u64, u64>("sub.s64 %r, %a, %b;", [](u64 a, u64 b) { return a - b; });
}

TEST(Integer, ProductsHaveALowAndAHighHalf) {
  ExpectTwin<u32, u32, u32>("mul.lo.s32 %r, %a, %b;", [](u32 a, u32 b) { return a * b; });
  ExpectTwin<u32, u32, u32>("mul.hi.u32 %r, %a, %b;",
                            [](u32 a, u32 b) { return u32(u64{a} * b >> 32); });
  ExpectTwin<i32, i32, i32>("mul.hi.s32 %r, %a, %b;",
                            [](i32 a, i32 b) { return i32(i64{a} * b >> 32); });
  ExpectTwin<u64, u64, u64>("mul.hi.u64 %r, %a, %b;", [](u64 a, u64 b) {
    return u64(static_cast<unsigned __int128>(a) * b >> 64);
  });
  ExpectTwin<i64, i64, i64>("mul.hi.s64 %r, %a, %b;",
                            [](i64 a, i64 b) { return i64(static_cast<__int128>(a) * b >> 64); });
  ExpectTwin<i64, i32, i32>("mul.wide.s32 %r, %a, %b;", [](i32 a, i32 b) { return i64{a} * b; });
  ExpectTwin<u64, u32, u32>("mul.wide.u32 %r, %a, %b;", [](u32 a, u32 b) { return u64{a} * b; });
  ExpectTwin<u32, u16, u16>("mul.wide.u16 %r, %a, %b;", [](u16 a, u16 b) { return u32{a} * b; });
  ExpectTwin<i32, i16, i16>("mul.wide.s16 %r, %a, %b;", [](i16 a, i16 b) { return a * b; });
}

TEST(Integer, ProductsAreAdded) {
  ExpectTwin<u32, u32, u32, u32>("mad.lo.s32 %r, %a, %b, %c;",
                                 [](u32 a, u32 b, u32 c) { return a * b + c; });
  ExpectTwin<u64, u64, u64, u64>("mad.lo.u64 %r, %a, %b, %c;",
                                 [](u64 a, u64 b, u64 c) { return a * b + c; });
  ExpectTwin<u64, i32, i32, u64>("mad.wide.s32 %r, %a, %b, %c;", [](i32 a, i32 b, u64 c) {
    return static_cast<u64>(i64{a} * b) + c;
  });
  ExpectTwin<u32, u32, u32, u32>("mad.hi.u32 %r, %a, %b, %c;",
                                 [](u32 a, u32 b, u32 c) { return u32(u64{a} * b >> 32) + c; });
}

TEST(Integer, QuotientsOfZeroAndOfTheLeastNumber) {
  ExpectTwin<i32, i32, i32>("div.s32 %r, %a, %b;", [](i32 a, i32 b) {
    return b == 0 ? -1 : static_cast<i32>(i64{a} / b);
  });
  ExpectTwin<u64, u64, u64>("div.u64 %r, %a, %b;",
                            [](u64 a, u64 b) { return b == 0 ? ~u64{0} : a / b; });
  ExpectTwin<i32, i32, i32>("rem.s32 %r, %a, %b;",
                            [](i32 a, i32 b) { return b == 0 ? a : static_cast<i32>(i64{a} % b); });
  ExpectTwin<u32, u32, u32>("rem.u32 %r, %a, %b;", [](u32 a, u32 b) { return b == 0 ? a : a % b; });
}

TEST(Integer, ExtremesAndSigns) {
  ExpectTwin<i32, i32, i32>("min.s32 %r, %a, %b;", [](i32 a, i32 b) { return std::min(a, b); });
  ExpectTwin<u32, u32, u32>("max.u32 %r, %a, %b;", [](u32 a, u32 b) { return std::max(a, b); });
  ExpectTwin<i64, i64, i64>("max.s64 %r, %a, %b;", [](i64 a, i64 b) { return std::max(a, b); });
  ExpectTwin<u16, u16, u16>("min.u16 %r, %a, %b;", [](u16 a, u16 b) { return std::min(a, b); });
  ExpectTwin<u32, u32>("neg.s32 %r, %a;", [](u32 a) { return 0 - a; });
  ExpectTwin<u64, u64>("abs.s64 %r, %a;", [](u64 a) { return i64(a) < 0 ? 0 - a : a; });
}

// 128 bits in four registers.
TEST(Integer, CarriesGoOn) {
  constexpr const char* kSum = R"({ .reg .b32 %x, %y, %u, %v;
    mov.b64 {%x, %y}, %a;
    mov.b64 {%u, %v}, %b;
    add.cc.u32 %x, %x, %u;
    addc.u32 %y, %y, %v;
    mov.b64 %r, {%x, %y}; })";
  ExpectTwin<u64, u64, u64>(kSum, [](u64 a, u64 b) { return a + b; });
  constexpr const char* kDifference = R"({ .reg .b32 %x, %y, %u, %v;
    mov.b64 {%x, %y}, %a;
    mov.b64 {%u, %v}, %b;
    sub.cc.u32 %x, %x, %u;
    subc.u32 %y, %y, %v;
    mov.b64 %r, {%x, %y}; })";
  ExpectTwin<u64, u64, u64>(kDifference, [](u64 a, u64 b) { return a - b; });
  // An addition takes 1 from a subtraction that borrowed nothing.
  constexpr const char* kMixed = R"({ .reg .b32 %x;
    sub.cc.u32 %x, %a, %b;
    addc.u32 %r, 0, 0; })";
  ExpectTwin<u32, u32, u32>(kMixed, [](u32 a, u32 b) { return u32(a >= b); });
  constexpr const char* kProduct = R"({ .reg .b32 %x, %y;
    mul.lo.u32 %x, %a, %b;
    mul.hi.u32 %y, %a, %b;
    mad.lo.cc.u32 %x, %a, %b, %x;
    madc.hi.u32 %y, %a, %b, %y;
    mov.b64 %r, {%x, %y}; })";
  ExpectTwin<u64, u32, u32>(kProduct, [](u32 a, u32 b) { return u64{a} * b * 2; });
}

}  // namespace
}  // namespace tessera::testing
