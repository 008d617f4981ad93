// Arithmetic on floats and doubles, beside C++'s.
#include <cfenv>
#include <cmath>
#include <cstdint>

#include "tests/ptx/run_ptx.h"

namespace tessera::testing {
namespace {

// The result of a function that rounds in another direction.
template <typename F>
auto Rounded(int direction, F f) {
  return [=](auto... args) {
    std::fesetround(direction);
    const volatile auto result = f(args...);
    std::fesetround(FE_TONEAREST);
    return static_cast<std::remove_cv_t<decltype(result)>>(result);
  };
}
// Volatile operands are read when the call is made: the compiler computes nothing ahead of it.
float Product(float a, float b) {
  const volatile float x = a, y = b;
  return x * y;
}
float Sum(float a, float b) {
  const volatile float x = a, y = b;
  return x + y;
}
float Flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

TEST(Real, FourKindsOfArithmetic) {
  ExpectTwin<float, float, float>("add.rn.f32 %r, %a, %b;", Sum);
  ExpectTwin<float, float, float>("sub.f32 %r, %a, %b;", [](float a, float b) { return a - b; });
  ExpectTwin<float, float, float>("mul.f32 %r, %a, %b;", Product);
  ExpectTwin<float, float, float>("div.rn.f32 %r, %a, %b;", [](float a, float b) { return a / b; });
  ExpectTwin<double, double, double>("add.f64 %r, %a, %b;",
                                     [](double a, double b) { return a + b; });
  ExpectTwin<double, double, double>("div.rn.f64 %r, %a, %b;",
                                     [](double a, double b) { return a / b; });
}

TEST(Real, ProductsAndSumsOfOneRounding) {
  ExpectTwin<float, float, float, float>(
      "fma.rn.f32 %r, %a, %b, %c;", [](float a, float b, float c) { return std::fma(a, b, c); });
  ExpectTwin<double, double, double, double>(
      "fma.rn.f64 %r, %a, %b, %c;", [](double a, double b, double c) { return std::fma(a, b, c); });
}

TEST(Real, DirectionsOfRounding) {
  ExpectTwin<float, float, float>("mul.rz.f32 %r, %a, %b;", Rounded(FE_TOWARDZERO, Product));
  ExpectTwin<float, float, float>("add.rm.f32 %r, %a, %b;", Rounded(FE_DOWNWARD, Sum));
  ExpectTwin<float, float, float>("add.rp.f32 %r, %a, %b;", Rounded(FE_UPWARD, Sum));
}

TEST(Real, FlushAndSaturate) {
  ExpectTwin<float, float, float>(
      "mul.ftz.f32 %r, %a, %b;", [](float a, float b) { return Flushed(Flushed(a) * Flushed(b)); });
  ExpectTwin<float, float, float>("add.sat.f32 %r, %a, %b;", [](float a, float b) {
    const float sum = a + b;
    return sum > 1 ? 1.0f : sum > 0 ? sum : 0.0f;
  });
}

TEST(Real, RootsAndReciprocals) {
  ExpectTwin<float, float>("sqrt.rn.f32 %r, %a;", [](float a) { return std::sqrt(a); });
  ExpectTwin<double, double>("sqrt.rn.f64 %r, %a;", [](double a) { return std::sqrt(a); });
  ExpectTwin<float, float>("rcp.rn.f32 %r, %a;", [](float a) { return 1 / a; });
  ExpectTwin<float, float>("rsqrt.approx.f32 %r, %a;",
                           [](float a) { return static_cast<float>(1 / std::sqrt(double{a})); });
}

TEST(Real, FunctionsOfADouble) {
  ExpectTwin<float, float>("ex2.approx.f32 %r, %a;",
                           [](float a) { return static_cast<float>(std::exp2(double{a})); });
  ExpectTwin<float, float>("ex2.approx.ftz.f32 %r, %a;", [](float a) {
    return Flushed(static_cast<float>(std::exp2(double{Flushed(a)})));
  });
  ExpectTwin<float, float>("lg2.approx.f32 %r, %a;",
                           [](float a) { return static_cast<float>(std::log2(double{a})); });
}

TEST(Real, ExtremesTakeTheNumberBesideANan) {
  const auto least = [](float a, float b) {
    if (a == b) return std::signbit(a) ? a : b;
    return std::fmin(a, b);
  };
  ExpectTwin<float, float, float>("min.f32 %r, %a, %b;", least);
  ExpectTwin<float, float, float>("max.f32 %r, %a, %b;",
                                  [&](float a, float b) { return -least(-a, -b); });
  ExpectTwin<float, float, float>("max.NaN.f32 %r, %a, %b;", [&](float a, float b) {
    return std::isnan(a) || std::isnan(b) ? NAN : -least(-a, -b);
  });
}

TEST(Real, SignsAndClasses) {
  ExpectTwin<uint32_t, uint32_t>("abs.f32 %r, %a;", [](uint32_t a) { return a & 0x7fffffff; });
  ExpectTwin<uint64_t, uint64_t>("neg.f64 %r, %a;",
                                 [](uint64_t a) { return a ^ (uint64_t{1} << 63); });
  ExpectTwin<float, float, float>("copysign.f32 %r, %a, %b;",
                                  [](float a, float b) { return std::copysign(b, a); });
  const std::string as_number = " selp.b32 %r, 1, 0, %p;";
  ExpectTwin<uint32_t, float>("testp.finite.f32 %p, %a;" + as_number,
                              [](float a) { return uint32_t{std::isfinite(a)}; });
  ExpectTwin<uint32_t, float>("testp.subnormal.f32 %p, %a;" + as_number,
                              [](float a) { return uint32_t{std::fpclassify(a) == FP_SUBNORMAL}; });
}

}  // namespace
}  // namespace tessera::testing
