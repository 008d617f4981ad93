#ifndef TESSERA_TESTS_BENCH_LAB_BROKEN_LOOKUP_H_
#define TESSERA_TESTS_BENCH_LAB_BROKEN_LOOKUP_H_
// A lookup for a GPU, of 32 columns of f32 with weights, that can do one thing wrong.
#include "bench/lab/cuda/cuda_variant.h"

namespace tessera::bench {

struct CudaFaults {
  bool lane = false;          // the last column is its neighbour's
  bool stride = false;        // outputs lie close together
  bool boundary = false;      // a bag of more than 200 ids ends one id early
  bool negative = false;      // −1 stands for row 0
  bool empty = false;         // an empty bag is left as it was
  bool order = false;         // two halves of a bag are summed, then added
  bool weight = false;        // of the id before
  bool type = false;          // sums are kept in 16 bits
  bool last_row = false;      // is taken for none
  bool beside = false;        // writes behind the last column of the last table
  bool no_barrier = false;    // lanes read an id before it is there
  bool warps_share = false;   // warps of a block share their sums
  bool blocks_share = false;  // blocks share their sums
  bool past_table = false;    // reads a row that is one past the table, and does not use it
};

CudaLookup BrokenLookup(const CudaFaults& faults);

}  // namespace tessera::bench
#endif  // TESSERA_TESTS_BENCH_LAB_BROKEN_LOOKUP_H_
