// cvt: between integers of any width, and floats of 16 (two kinds), 32 and 64 bits.
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>

#include "tools/ptx/execute/families.h"
#include "tools/ptx/execute/lanes.h"

namespace ptx {
namespace {

constexpr uint64_t kNan16 = 0x7fff;

class RoundingScope {
 public:
  explicit RoundingScope(Rounding rounding) : before_(std::fegetround()) {
    constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    std::fesetround(kModes[static_cast<int>(rounding)]);
  }
  ~RoundingScope() { std::fesetround(before_); }
  RoundingScope(const RoundingScope&) = delete;

 private:
  int before_;
};

double HalfValue(uint64_t bits) {
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = static_cast<double>(bits & 1023);
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * INFINITY;
  return sign *
         (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
}
double ValueOf(Type t, uint64_t bits) {
  if (t.kind == Kind::kBfloat) return Get<float>((bits & 0xffff) << 16);
  if (t.bytes == 2) return HalfValue(bits);
  return t.bytes == 4 ? double{Get<float>(bits)} : Get<double>(bits);
}

// |x| in units of the last place of a 16-bit float, rounded as the scope says (both kinds of float
// have their bits in the order of their values, so a carry into the exponent is right).
uint64_t Float16Bits(double x, int fraction_bits, int exponent_bits) {
  const uint64_t sign = std::signbit(x) ? 0x8000 : 0;
  if (x != x) return kNan16;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint64_t infinity = ((uint64_t{1} << exponent_bits) - 1) << fraction_bits;
  if (std::isinf(x)) return sign | infinity;
  int exponent = 0;
  std::frexp(x, &exponent);  // |x| in [2^(exponent-1), 2^exponent)
  const int lowest = 1 - bias;
  const int e = x == 0 ? lowest : std::max(exponent - 1, lowest);
  const double units = std::fabs(std::nearbyint(std::ldexp(x, fraction_bits - e)));
  const uint64_t below = static_cast<uint64_t>(e - lowest) << fraction_bits;
  const uint64_t bits = below + static_cast<uint64_t>(units);
  if (bits < infinity) return sign | bits;
  const bool away = std::isinf(static_cast<float>(std::copysign(3.5e38, x)));
  return sign | (away ? infinity : infinity - 1);
}
uint64_t BitsOf(Type t, double x) {
  if (t.kind == Kind::kBfloat) return Float16Bits(x, 7, 8);
  if (t.bytes == 2) return Float16Bits(x, 10, 5);
  return t.bytes == 4 ? Put<float>(static_cast<float>(x)) : Put<double>(x);
}

// Numbers out of range become the nearest that the type has, NaN becomes 0 (of 64 bits, or from a
// double: the number with only the highest bit).
uint64_t IntegerOf(Type from, Type to, double x) {
  const int bits = to.bytes * 8;
  const uint64_t top_bit = uint64_t{1} << (bits - 1);
  if (x != x) return from.bytes == 8 || bits == 64 ? top_bit : 0;
  x = std::nearbyint(x);
  const double end = std::ldexp(1.0, to.is_signed() ? bits - 1 : bits);
  if (x >= end) return to.is_signed() ? top_bit - 1 : Truncated(to, ~uint64_t{0});
  if (to.is_signed())
    return Truncated(to, x <= -end ? top_bit : static_cast<uint64_t>(static_cast<int64_t>(x)));
  return x <= 0 ? 0 : Truncated(to, static_cast<uint64_t>(x));
}

void RealToInteger(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  uint64_t* r = Result(warp, i);
  const RoundingScope scope(i.rounding);
  ForLanes(lanes, [&](int l) { r[l] = IntegerOf(i.type2, i.type, ValueOf(i.type2, a[l])); });
}

void IntegerToReal(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  uint64_t* r = Result(warp, i);
  const RoundingScope scope(i.rounding);
  ForLanes(lanes, [&](int l) {
    const uint64_t v = Extended(i.type2, a[l]);
    const bool negative = i.type2.is_signed();
    if (i.type.bytes == 4)  // from 64 bits straight to a float: one rounding
      r[l] = Put(negative ? static_cast<float>(static_cast<int64_t>(v)) : static_cast<float>(v));
    else
      r[l] = BitsOf(
          i.type, negative ? static_cast<double>(static_cast<int64_t>(v)) : static_cast<double>(v));
  });
}

void IntegerToInteger(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) {
    const uint64_t v = Extended(i.type2, a[l]);
    if (!i.saturate) {
      r[l] = Truncated(i.type, v);
      return;
    }
    const auto x = i.type2.is_signed() ? __int128{static_cast<int64_t>(v)} : __int128{v};
    const int bits = i.type.bytes * 8 - (i.type.is_signed() ? 1 : 0);
    const __int128 end = __int128{1} << bits, least = i.type.is_signed() ? -end : 0;
    r[l] = Truncated(i.type, static_cast<uint64_t>(x >= end ? end - 1 : x < least ? least : x));
  });
}

void RealToReal(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  uint64_t* r = Result(warp, i);
  const bool to_integer = i.Has("rni") || i.Has("rzi") || i.Has("rmi") || i.Has("rpi");
  const bool positive = i.Has("relu");
  const RoundingScope scope(i.rounding);
  ForLanes(lanes, [&](int l) {
    double x = ValueOf(i.type2, a[l]);
    if (to_integer) x = std::nearbyint(x);
    if (i.saturate) x = x > 1 ? 1 : x > 0 ? x : 0;
    if (positive && x < 0) x = 0;
    r[l] = BitsOf(i.type, x);
  });
}
// Two floats to a pair of 16-bit floats; the first is the upper half.
void RealsToPair(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2);
  uint64_t* r = Result(warp, i);
  const Type half = {i.type.kind, 2};
  const RoundingScope scope(i.rounding);
  ForLanes(lanes, [&](int l) {
    const uint64_t upper = BitsOf(half, Get<float>(a[l])), lower = BitsOf(half, Get<float>(b[l]));
    r[l] = upper << 16 | lower;
  });
}

}  // namespace

Execute FindConversion(Instruction& i) {
  for (const std::string& m : i.modifiers) {
    const bool rounds = m.size() >= 2 && m.size() <= 3 && m[0] == 'r' &&
                        std::strchr("nzmp", m[1]) != nullptr && (m.size() == 2 || m[2] == 'i');
    if (!rounds && m != "sat" && m != "ftz" && m != "relu") return nullptr;
  }
  if (i.flush) return nullptr;
  const Type to = i.type, from = i.type2;
  if (from.kind == Kind::kNone || from.pair) return nullptr;
  if (to.pair) return from.Is(Kind::kReal, 4) && i.modifiers.size() == 1 ? RealsToPair : nullptr;
  if (from.is_real()) return to.is_real() ? RealToReal : RealToInteger;
  return to.is_real() ? IntegerToReal : IntegerToInteger;
}

}  // namespace ptx
