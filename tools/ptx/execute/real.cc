// Arithmetic on floats and doubles, rounded as the instruction says. Results that hardware
// approximates (ex2, lg2, sin, cos, tanh, rsqrt, and div, rcp, sqrt with .approx) are rounded to
// nearest here: they may differ from a GPU's in the last bits.
#include <immintrin.h>

#include <cmath>
#include <limits>

#include "tools/ptx/execute/families.h"
#include "tools/ptx/execute/lanes.h"

namespace ptx {
namespace {

// Sets the CPU's rounding, and whether it takes numbers below the smallest normal one for 0.
class FloatMode {
 public:
  FloatMode(Rounding rounding, bool flush) : before_(_mm_getcsr()) {
    constexpr unsigned kDirections[] = {_MM_ROUND_NEAREST, _MM_ROUND_TOWARD_ZERO, _MM_ROUND_DOWN,
                                        _MM_ROUND_UP};
    constexpr unsigned kDenormalsAreZero = 0x40;
    unsigned mode = (before_ & ~unsigned{_MM_ROUND_MASK}) | kDirections[static_cast<int>(rounding)];
    if (flush) mode |= _MM_FLUSH_ZERO_ON | kDenormalsAreZero;
    _mm_setcsr(mode);
  }
  ~FloatMode() { _mm_setcsr(before_); }
  FloatMode(const FloatMode&) = delete;

 private:
  unsigned before_;
};

template <Execute kPlain>
void InMode(Warp& warp, const Instruction& i, LaneMask lanes) {
  const FloatMode mode(i.rounding, i.flush);
  kPlain(warp, i, lanes);
  if (!i.saturate) return;
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) {
    const float x = Get<float>(r[l]);
    r[l] = Put<float>(x > 1 ? 1.0f : x > 0 ? x : 0.0f);
  });
}
// The mode is set only where it is not the CPU's own.
template <Execute kPlain>
Execute Moded(const Instruction& i) {
  const bool plain = i.rounding == Rounding::kNearest && !i.flush && !i.saturate;
  return plain ? kPlain : InMode<kPlain>;
}

template <typename T>
T Lesser(T x, T y) {
  if (x == y) return std::signbit(x) ? x : y;
  return x < y ? x : y;
}
// With NaNs the other number, or with .NaN a NaN.
template <typename T, bool kLess>
void Extreme(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2);
  uint64_t* r = Result(warp, i);
  const bool keep_nan = i.Has("NaN");
  ForLanes(lanes, [&](int l) {
    const T x = Get<T>(a[l]), y = Get<T>(b[l]);
    if (x != x || y != y)
      r[l] = Put<T>(keep_nan || (x != x && y != y) ? std::numeric_limits<T>::quiet_NaN()
                    : x != x                       ? y
                                                   : x);
    else
      r[l] = Put<T>(kLess ? Lesser(x, y) : -Lesser(-x, -y));
  });
}

template <typename T>
constexpr uint64_t kSignBit = sizeof(T) == 4 ? 0x80000000u : uint64_t{1} << 63;
// Signs change by their bit alone, of NaNs too.
template <typename T, auto F>
void ChangeSign(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = F(Truncated(i.type, a[l])); });
}
// The sign of a, the rest of b.
template <typename T>
void CopySign(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t *a = Source(warp, i, 1), *b = Source(warp, i, 2);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes,
           [&](int l) { r[l] = Truncated(i.type, (b[l] & ~kSignBit<T>) | (a[l] & kSignBit<T>)); });
}

constexpr const char* kTests[] = {"finite",     "infinite", "number",
                                  "notanumber", "normal",   "subnormal"};
template <typename T>
void TestClass(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) {
    const int c = std::fpclassify(Get<T>(a[l]));
    const bool is[] = {c != FP_INFINITE && c != FP_NAN,
                       c == FP_INFINITE,
                       c != FP_NAN,
                       c == FP_NAN,
                       c == FP_NORMAL,
                       c == FP_SUBNORMAL};
    r[l] = is[i.choice];
  });
}

// Functions of a double that are rounded once more, to float.
template <auto F>
Execute FindApproximated(const Instruction& i) {
  if (!i.type.Is(Kind::kReal, 4)) return nullptr;
  return Moded<Unary<float, [](float x) { return static_cast<float>(F(double{x})); }>>(i);
}

template <typename T>
Execute FindArithmetic(const Instruction& i) {
  const std::string& op = i.opcode;
  if (op == "add") return Moded<Binary<T, [](T x, T y) { return x + y; }>>(i);
  if (op == "sub") return Moded<Binary<T, [](T x, T y) { return x - y; }>>(i);
  if (op == "mul") return Moded<Binary<T, [](T x, T y) { return x * y; }>>(i);
  if (op == "div") return Moded<Binary<T, [](T x, T y) { return x / y; }>>(i);
  if (op == "fma" || op == "mad")
    return Moded<Ternary<T, [](T x, T y, T z) { return std::fma(x, y, z); }>>(i);
  if (op == "sqrt") return Moded<Unary<T, [](T x) { return std::sqrt(x); }>>(i);
  if (op == "rcp") return Moded<Unary<T, [](T x) { return 1 / x; }>>(i);
  if (op == "min") return Moded<Extreme<T, true>>(i);
  if (op == "max") return Moded<Extreme<T, false>>(i);
  return nullptr;
}

template <typename T>
Execute FindOfType(Instruction& i) {
  const std::string& op = i.opcode;
  if (op == "abs") return ChangeSign<T, [](uint64_t x) { return x & ~kSignBit<T>; }>;
  if (op == "neg") return ChangeSign<T, [](uint64_t x) { return x ^ kSignBit<T>; }>;
  if (op == "copysign") return CopySign<T>;
  if (op == "testp") {
    for (const char* test : kTests) {
      if (i.Has(test)) return TestClass<T>;
      ++i.choice;
    }
    return nullptr;
  }
  return FindArithmetic<T>(i);
}

}  // namespace

Execute FindReal(Instruction& i) {
  const std::string& op = i.opcode;
  if (op == "ex2") return FindApproximated<[](double x) { return std::exp2(x); }>(i);
  if (op == "lg2") return FindApproximated<[](double x) { return std::log2(x); }>(i);
  if (op == "sin") return FindApproximated<[](double x) { return std::sin(x); }>(i);
  if (op == "cos") return FindApproximated<[](double x) { return std::cos(x); }>(i);
  if (op == "tanh") return FindApproximated<[](double x) { return std::tanh(x); }>(i);
  if (op == "rsqrt" && i.type.Is(Kind::kReal, 4))
    return FindApproximated<[](double x) { return 1 / std::sqrt(x); }>(i);
  if (op == "rsqrt" && i.type.Is(Kind::kReal, 8))
    return Unary<double, [](double x) { return 1 / std::sqrt(x); }>;
  return ForReal(i.type, [&](auto t) { return FindOfType<decltype(t)>(i); });
}

}  // namespace ptx
