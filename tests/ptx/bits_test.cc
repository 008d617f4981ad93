// Logic, shifts, fields and counts of bits, comparisons and choices.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "tests/ptx/run_ptx.h"

namespace tessera::testing {
namespace {

using i32 = int32_t;
using i64 = int64_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

const std::string kAsNumber = " selp.b32 %r, 1, 0, %p;";

TEST(Bits, Logic) {
  ExpectTwin<u32, u32, u32>("and.b32 %r, %a, %b;", [](u32 a, u32 b) { return a & b; });
  ExpectTwin<u64, u64, u64>("or.b64 %r, %a, %b;", [](u64 a, u64 b) { return a | b; });
  ExpectTwin<u16, u16, u16>("xor.b16 %r, %a, %b;", [](u16 a, u16 b) { return u16(a ^ b); });
  ExpectTwin<u32, u32>("not.b32 %r, %a;", [](u32 a) { return ~a; });
  ExpectTwin<u32, u32, u32, u32>("lop3.b32 %r, %a, %b, %c, 0xb8;", [](u32 a, u32 b, u32 c) {
    return (a & b & c) | (a & ~b & c) | (a & ~b & ~c) | (~a & b & c);
  });
}

TEST(Bits, ShiftsByMoreThanTheWidth) {
  ExpectTwin<u32, u32, u32>("shl.b32 %r, %a, %b;",
                            [](u32 a, u32 b) { return b > 31 ? 0 : a << b; });
  ExpectTwin<u64, u64, u32>("shr.u64 %r, %a, %b;",
                            [](u64 a, u32 b) { return b > 63 ? 0 : a >> b; });
  ExpectTwin<i32, i32, u32>("shr.s32 %r, %a, %b;",
                            [](i32 a, u32 b) { return a >> std::min(b, 31u); });
  ExpectTwin<u16, u16, u32>("shl.b16 %r, %a, %b;",
                            [](u16 a, u32 b) { return u16(b > 15 ? 0 : a << b); });
}

TEST(Bits, FunnelShifts) {
  const auto both = [](u32 a, u32 b) { return u64{b} << 32 | a; };
  ExpectTwin<u32, u32, u32, u32>("shf.l.wrap.b32 %r, %a, %b, %c;", [&](u32 a, u32 b, u32 c) {
    return u32(both(a, b) << (c & 31) >> 32);
  });
  ExpectTwin<u32, u32, u32, u32>("shf.r.clamp.b32 %r, %a, %b, %c;", [&](u32 a, u32 b, u32 c) {
    return u32(both(a, b) >> std::min(c, 32u));
  });
}

TEST(Bits, Fields) {
  ExpectTwin<u32, u32>("bfe.u32 %r, %a, 5, 9;", [](u32 a) { return a >> 5 & 511; });
  ExpectTwin<i32, i32>("bfe.s32 %r, %a, 5, 9;", [](i32 a) { return a << 18 >> 23; });
  ExpectTwin<i64, i64>("bfe.s64 %r, %a, 60, 9;", [](i64 a) { return a >> 60; });
  ExpectTwin<u32, u32, u32>("bfi.b32 %r, %a, %b, 5, 9;",
                            [](u32 a, u32 b) { return (b & ~(511u << 5)) | (a & 511) << 5; });
  ExpectTwin<i32, i32>("szext.wrap.s32 %r, %a, 7;", [](i32 a) { return a << 25 >> 25; });
  ExpectTwin<u32, u32>("bmsk.clamp.b32 %r, %a, 3;",
                       [](u32 a) { return a > 31 ? 0 : u32(u64{7} << a); });
}

TEST(Bits, Counts) {
  ExpectTwin<u32, u32>("popc.b32 %r, %a;", [](u32 a) { return u32(std::popcount(a)); });
  ExpectTwin<u32, u64>("popc.b64 %r, %a;", [](u64 a) { return u32(std::popcount(a)); });
  ExpectTwin<u32, u32>("clz.b32 %r, %a;", [](u32 a) { return u32(std::countl_zero(a)); });
  ExpectTwin<u32, u32>("brev.b32 %r, %a;", [](u32 a) {
    u32 r = 0;
    for (int k = 0; k < 32; ++k) r |= (a >> k & 1) << (31 - k);
    return r;
  });
  ExpectTwin<u32, u64>("bfind.u64 %r, %a;", [](u64 a) { return u32(63 - std::countl_zero(a)); });
  ExpectTwin<u32, i32>("bfind.shiftamt.s32 %r, %a;", [](i32 a) {
    const u32 x = u32(a < 0 ? ~a : a);
    return x == 0 ? ~0u : u32(std::countl_zero(x));
  });
}

TEST(Bits, BytesPutTogether) {
  ExpectTwin<u32, u32, u32>("prmt.b32 %r, %a, %b, 0x7320;", [](u32 a, u32 b) {
    return (a & 255) | (a >> 16 & 255) << 8 | (a >> 24) << 16 | (b >> 24) << 24;
  });
  ExpectTwin<u32, u32>("prmt.b32 %r, %a, 0, 0xb0;", [](u32 a) {
    return (a & 255) | (i32(a) < 0 ? 0xff00u : 0) | (a & 255) << 16 | (a & 255) << 24;
  });
}

TEST(Comparison, OfIntegers) {
  ExpectTwin<u32, i32, i32>("setp.lt.s32 %p, %a, %b;" + kAsNumber,
                            [](i32 a, i32 b) { return u32{a < b}; });
  ExpectTwin<u32, u64, u64>("setp.ge.u64 %p, %a, %b;" + kAsNumber,
                            [](u64 a, u64 b) { return u32{a >= b}; });
  ExpectTwin<u32, u32, u32>("setp.hi.u32 %p, %a, %b;" + kAsNumber,
                            [](u32 a, u32 b) { return u32{a > b}; });
  ExpectTwin<u32, u16, u16>("setp.ne.b16 %p, %a, %b;" + kAsNumber,
                            [](u16 a, u16 b) { return u32{a != b}; });
}

TEST(Comparison, OfFloatsWithNans) {
  ExpectTwin<u32, float, float>("setp.ne.f32 %p, %a, %b;" + kAsNumber,
                                [](float a, float b) { return u32{a < b || a > b}; });
  ExpectTwin<u32, float, float>("setp.neu.f32 %p, %a, %b;" + kAsNumber,
                                [](float a, float b) { return u32{a != b}; });
  ExpectTwin<u32, float, float>("setp.geu.f32 %p, %a, %b;" + kAsNumber,
                                [](float a, float b) { return u32{!(a < b)}; });
  ExpectTwin<u32, double, double>("setp.nan.f64 %p, %a, %b;" + kAsNumber, [](double a, double b) {
    return u32{std::isnan(a) || std::isnan(b)};
  });
}

TEST(Comparison, CombinedWithAPredicate) {
  ExpectTwin<u32, i32, i32, i32>(
      "setp.lt.s32 %p, %a, %b; setp.gt.or.s32 %p, %a, %c, !%p;" + kAsNumber,
      [](i32 a, i32 b, i32 c) { return u32{a > c || !(a < b)}; });
  ExpectTwin<u32, i32, i32>(
      "{ .reg .pred %q; setp.lt.s32 %p|%q, %a, %b; xor.pred %p, %p, %q; not.pred %p, %p;" +
          kAsNumber + " }",
      [](i32, i32) { return 0u; });
}

TEST(Comparison, Choices) {
  ExpectTwin<u32, u32, u32, i32>("setp.gt.s32 %p, %c, 0; selp.b32 %r, %a, %b, %p;",
                                 [](u32 a, u32 b, i32 c) { return c > 0 ? a : b; });
  ExpectTwin<u32, u32, u32, i32>("slct.u32.s32 %r, %a, %b, %c;",
                                 [](u32 a, u32 b, i32 c) { return c >= 0 ? a : b; });
  ExpectTwin<u32, float, float>("set.lt.u32.f32 %r, %a, %b;",
                                [](float a, float b) { return a < b ? ~0u : 0u; });
}

}  // namespace
}  // namespace tessera::testing
