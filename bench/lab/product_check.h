#ifndef TESSERA_BENCH_LAB_PRODUCT_CHECK_H_
#define TESSERA_BENCH_LAB_PRODUCT_CHECK_H_
// The elements that a product should have, and how far a sum in another order may be from them.
#include <functional>
#include <vector>

#include "bench/lab/product_kernel.h"
#include "bench/lab/variant.h"
#include "runtime/context.h"

namespace tessera::bench {

// By how much two sums of k products, in any two orders, may differ, as a share of Σ|a·b|. Each is
// within γ = k·u / (1 − k·u) of the exact one, u = 2^−24 (Higham, Accuracy and Stability of
// Numerical Algorithms, 3.1); Σ|a·b|, itself a sum of f32, may be short by γ, too: 2γ / (1 − γ).
double ProductTolerance(int64_t k);

class ExpectedProduct {
 public:
  // By the obvious loop.
  explicit ExpectedProduct(const ProductArgs& args);
  // By a function that is right.
  ExpectedProduct(Context& ctx, const ProductArgs& args, const KernelFunction<ProductArgs>& ours);

  // Throws Error, naming the element, unless C has these bits; with other_sums, unless each element
  // is within the tolerance.
  void Check(const ProductArgs& args, bool other_sums) const;

 private:
  std::vector<float> c_, magnitudes_;  // [m, n]; of the elements of C, and of their terms
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_PRODUCT_CHECK_H_
