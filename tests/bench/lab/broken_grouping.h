#ifndef TESSERA_TESTS_BENCH_LAB_BROKEN_GROUPING_H_
#define TESSERA_TESTS_BENCH_LAB_BROKEN_GROUPING_H_
// A grouping for a GPU that can do one thing wrong.
#include "bench/lab/cuda/cuda_variant.h"

namespace tessera::bench {

enum class CudaGroupingFault {
  kNone,
  kUnsorted,   // nothing is done
  kOrder,      // of the occurrences of a row
  kLast,       // the last occurrence is left where it was
  kPayload,    // of another bag
  kLastRow,    // is taken for the one before
  kHighBit,    // of a row is lost
  kFewerBits,  // than rows have are sorted by
  kBeside,     // one number is written behind the last key of the scratch
  kOtherArray  // the result is said to lie where it does not
};

CudaGrouping BrokenGrouping(CudaGroupingFault fault);

}  // namespace tessera::bench
#endif  // TESSERA_TESTS_BENCH_LAB_BROKEN_GROUPING_H_
