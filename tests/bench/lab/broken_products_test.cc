// The lab refuses a product that does one thing wrong, and one that has other sums where it does
// not say so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "bench/lab/product_check.h"
#include "bench/lab/product_kernel.h"
#include "runtime/base/check.h"
#include "tests/bench/lab/lab_point.h"

namespace tessera::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct Faults {
  bool lane = false;        // the last column is its neighbour's
  bool last_row = false;    // is left as it was
  bool no_terms = false;    // a sum without terms is left as it was
  bool order = false;       // all terms in one chain, without pieces
  bool rounding = false;    // a product and a sum are two roundings
  bool last_term = false;   // is left out
  bool transposed = false;  // A is read as if it were square
  bool race = false;        // threads share their sums
  bool beside = false;      // one number is written behind the last column
  float factor = 1;         // of every element
};

class Products {
 public:
  explicit Products(const Faults& faults) : faults_(faults) {}

  void operator()(Context& ctx, const ProductArgs& p) const {
    ParallelFor(ctx, p.m, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> own(static_cast<size_t>(p.n));
      static std::vector<float> shared(1 << 16);
      for (int64_t i = begin; i < end; ++i) Row(p, i, faults_.race ? shared.data() : own.data());
    });
    if (faults_.beside) p.c[(p.m - 1) * p.ldc + p.n] = 1;
  }

 private:
  void Row(const ProductArgs& p, int64_t i, float* sums) const {
    if ((faults_.last_row && i == p.m - 1) || (faults_.no_terms && p.k == 0)) return;
    for (int64_t j = 0; j < p.n; ++j) {
      sums[j] = 0;
      const int64_t piece = faults_.order ? p.k : kGemmPiece;
      for (int64_t begin = 0; begin < p.k; begin += piece)
        sums[j] += Piece(p, i, j, begin, std::min(begin + piece, p.k));
    }
    for (int64_t j = 0; j < p.n; ++j) p.c[i * p.ldc + j] = faults_.factor * sums[j];
    if (faults_.lane && p.n > 1) p.c[i * p.ldc + p.n - 1] = sums[p.n - 2];
  }
  float Piece(const ProductArgs& p, int64_t i, int64_t j, int64_t begin, int64_t end) const {
    float sum = 0;
    if (faults_.last_term && end == p.k) --end;
    for (int64_t t = begin; t < end; ++t) {
      const float a = faults_.transposed && i < p.k && t < p.m ? *p.A(t, i) : *p.A(i, t);
      sum = faults_.rounding ? sum + a * *p.B(t, j) : std::fma(a, *p.B(t, j), sum);
    }
    return sum;
  }

  Faults faults_;
};

const std::pair<const char*, Faults> kFaults[] = {
    {"a lane", {.lane = true}},           {"last row", {.last_row = true}},
    {"no terms", {.no_terms = true}},     {"order of sums", {.order = true}},
    {"rounding", {.rounding = true}},     {"last term", {.last_term = true}},
    {"transposed", {.transposed = true}}, {"a race", {.race = true}},
    {"beside C", {.beside = true}},       {"a small error", {.factor = 1.0001f}}};

class BrokenProducts : public ::testing::Test {
 protected:
  Checker<ProductArgs> check{Values{{"kernel", "product"}}};
};

TEST_F(BrokenProducts, AreRefusedAndTheRightOneIsNot) {
  EXPECT_NO_THROW(check(check.ours()));
  EXPECT_NO_THROW(check(Products({})));
  for (const auto& [name, faults] : kFaults) {
    SCOPED_TRACE(name);
    check.ExpectRefused(Products(faults));
  }
}

TEST_F(BrokenProducts, OtherSumsAreTakenWithinTheToleranceAlone) {
  for (const Faults& other : {Faults{.order = true}, Faults{.rounding = true}})
    EXPECT_NO_THROW(check(Products(other), /*other_sums=*/true));
  for (const auto& [name, faults] : kFaults) {
    if (faults.order || faults.rounding) continue;
    SCOPED_TRACE(name);
    check.ExpectRefused(Products(faults), "", /*other_sums=*/true);
  }
}

// Sums of k numbers of f32 at the end of their tolerance: k ulps of the largest partial sum.
TEST(ProductToleranceTest, GrowsWithTheTerms) {
  EXPECT_DOUBLE_EQ(ProductTolerance(0), 0);
  EXPECT_NEAR(ProductTolerance(1), std::ldexp(1.0, -23), 1e-12);
  EXPECT_NEAR(ProductTolerance(1024), std::ldexp(1.0, -13), 2e-8);
}

TEST(OtherSumsTest, NeedAKernelThatKnowsATolerance) {
  EXPECT_EQ(NameWithTolerance("eigen", 6.1e-5), "eigen (6e-05)");
  EXPECT_THAT([] { NameWithTolerance("halves", 0); },
              ThrowsMessage<Error>(HasSubstr("have every bit of ours")));
}

}  // namespace
}  // namespace tessera::bench
