#ifndef TESSERA_BENCH_LAB_CUDA_CUDA_GROUPING_H_
#define TESSERA_BENCH_LAB_CUDA_CUDA_GROUPING_H_
// A grouping on a GPU brings the ids of a batch together, row by row, as an update does there: the
// ids of all tables at once, as keys and payloads in arrays of their own, by one sort
// (runtime/algorithms.h). The library's update of at most 1,024 ids does it in the kernel that also
// collects them, which is no part of the lab.
#include <cstdint>

#include "runtime/algorithms.h"

namespace tessera::bench {

// All of it in the memory of the device. A row's key is its table's first key plus its number; an
// occurrence's payload is its bag, counted over all tables.
struct CudaGroupingArgs {
  uint32_t *keys, *payloads;                  // in the order of the batch
  uint32_t *keys_scratch, *payloads_scratch;  // room for as many
  int64_t size;
  uint64_t end_key;  // all keys are below it
};

// A grouping leaves equal keys side by side, each key's payloads in the order they came in; the
// order of keys is free. It says in which of the two arrays of each kind they lie.
using CudaGrouped = internal::SortedPairs<uint32_t>;

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_CUDA_CUDA_GROUPING_H_
