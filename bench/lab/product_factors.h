#ifndef TESSERA_BENCH_LAB_PRODUCT_FACTORS_H_
#define TESSERA_BENCH_LAB_PRODUCT_FACTORS_H_
// The products that variants are checked and timed on, on CPUs and GPUs alike.
#include <cstdint>
#include <random>
#include <vector>

#include "bench/harness/topic.h"
#include "bench/lab/guarded_bytes.h"
#include "bench/lab/product_check.h"
#include "bench/lab/product_kernel.h"
#include "runtime/context.h"
#include "runtime/ops/gemm_impl.h"

namespace tessera::bench {

// Two factors, whose rows lie `gap` elements apart, and room for their product.
class Factors {
 public:
  Factors(GemmForm form, int64_t m, int64_t n, int64_t k, int64_t gap, uint32_t seed);

  // The product, with nothing in C yet.
  ProductArgs Args();
  // Returns the same again, whatever is in C.
  const ProductArgs& args() const { return args_; }
  // Throws Error where something was written beside the elements of C.
  void CheckGuards() const;

  // Their memory, for who copies it.
  GuardedBytes& a() { return a_; }
  GuardedBytes& b() { return b_; }
  GuardedBytes& c() { return c_; }

 private:
  static GuardedBytes Numbers(int64_t count, std::mt19937& random);

  ProductArgs args_;
  GuardedBytes a_, b_, c_;
};

struct HardProduct {
  Factors factors;
  ExpectedProduct expected;
};
// Extents around those of registers, panels and pieces of a sum, in each form.
std::vector<HardProduct> HardProducts();

// The axes product, in, out and batch.
std::vector<Axis> ProductAxes();
// REQUIRES: a point of ProductAxes() and the axis "seed".
Factors FactorsOf(const Point& point);

// Floats that a product reads and writes, once each, in bytes.
double BytesOf(const ProductArgs& args);
// A product as the library takes it.
internal::GemmProblem ProblemOf(const ProductArgs& args);
// The library's own product on a CPU, whose bits all machines have.
void PortableProduct(Context& ctx, const ProductArgs& args);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_PRODUCT_FACTORS_H_
