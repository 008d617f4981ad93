#ifndef TESSERA_TESTS_BENCH_LAB_BROKEN_PRODUCT_H_
#define TESSERA_TESTS_BENCH_LAB_BROKEN_PRODUCT_H_
// A product for a GPU that can do one thing wrong.
#include "bench/lab/cuda/cuda_variant.h"

namespace tessera::bench {

struct CudaProductFaults {
  bool lane = false;        // the last column is its neighbour's
  bool last_row = false;    // is left as it was
  bool no_terms = false;    // a sum without terms is left as it was
  bool order = false;       // all terms in one chain, without pieces
  bool rounding = false;    // a product and a sum are two roundings
  bool last_term = false;   // is left out
  bool transposed = false;  // A is read as if it were square
  bool beside = false;      // one number is written behind the last column
  bool no_barrier = false;  // threads read terms of A before they are there
  float factor = 1;         // of every element
};

CudaProduct BrokenProduct(const CudaProductFaults& faults);

}  // namespace tessera::bench
#endif  // TESSERA_TESTS_BENCH_LAB_BROKEN_PRODUCT_H_
