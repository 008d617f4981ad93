#include "bench/lab/product_check.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

// Σ over p of term_of(p)'s products in the order that gemm.h says.
template <typename TermOf>
float OurSum(int64_t k, const TermOf& term_of) {
  float sum = 0;
  for (int64_t begin = 0; begin < k; begin += kGemmPiece) {
    float piece = 0;
    for (int64_t p = begin; p < std::min(begin + kGemmPiece, k); ++p) {
      const auto [a, b] = term_of(p);
      piece = std::fma(a, b, piece);
    }
    sum = begin == 0 ? piece : sum + piece;
  }
  return sum;
}

// The matrix that `args` reads through `at`, of magnitudes, with rows as far apart.
std::vector<float> Magnitudes(const float* matrix, int64_t rows, int64_t columns, int64_t ld) {
  std::vector<float> all(static_cast<size_t>(rows * ld));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t x = 0; x < columns; ++x)
      all[static_cast<size_t>(r * ld + x)] = std::abs(matrix[r * ld + x]);
  return all;
}

}  // namespace

double ProductTolerance(int64_t k) {
  const double ku = static_cast<double>(k) * std::ldexp(1.0, -24), gamma = ku / (1 - ku);
  return 2 * gamma / (1 - gamma);
}

ExpectedProduct::ExpectedProduct(const ProductArgs& args) {
  for (int64_t i = 0; i < args.m; ++i)
    for (int64_t j = 0; j < args.n; ++j) {
      c_.push_back(
          OurSum(args.k, [&](int64_t p) { return std::pair(*args.A(i, p), *args.B(p, j)); }));
      magnitudes_.push_back(OurSum(args.k, [&](int64_t p) {
        return std::pair(std::abs(*args.A(i, p)), std::abs(*args.B(p, j)));
      }));
    }
}

ExpectedProduct::ExpectedProduct(Context& ctx, const ProductArgs& args,
                                 const KernelFunction<ProductArgs>& ours)
    : c_(static_cast<size_t>(args.m * args.n)), magnitudes_(c_.size()) {
  ProductArgs dense = args;
  dense.c = c_.data();
  dense.ldc = args.n;
  ours(ctx, dense);
  const bool tn = args.form == GemmForm::kTN, nt = args.form == GemmForm::kNT;
  const std::vector<float> a =
      Magnitudes(args.a, tn ? args.k : args.m, tn ? args.m : args.k, args.lda);
  const std::vector<float> b =
      Magnitudes(args.b, nt ? args.n : args.k, nt ? args.k : args.n, args.ldb);
  dense.a = a.data();
  dense.b = b.data();
  dense.c = magnitudes_.data();
  ours(ctx, dense);
}

void ExpectedProduct::Check(const ProductArgs& args, bool other_sums) const {
  const double tolerance = ProductTolerance(args.k);
  for (int64_t i = 0; i < args.m; ++i)
    for (int64_t j = 0; j < args.n; ++j) {
      const auto at = static_cast<size_t>(i * args.n + j);
      const float got = args.c[i * args.ldc + j], expected = c_[at];
      const double far = tolerance * magnitudes_[at];
      const bool right = other_sums
                             ? std::abs(double{got} - double{expected}) <= far
                             : std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(expected);
      TESSERA_CHECK(right,
                    "C[{}, {}] of a product of {} x {} with {} terms: expected {:.9g}{}, got "
                    "{:.9g}",
                    i, j, args.m, args.n, args.k, expected,
                    other_sums ? Format(" ± {:.2g}", far) : "", got);
    }
}

}  // namespace tessera::bench
