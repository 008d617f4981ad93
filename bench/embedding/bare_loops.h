#ifndef TESSERA_BENCH_EMBEDDING_BARE_LOOPS_H_
#define TESSERA_BENCH_EMBEDDING_BARE_LOOPS_H_
// The limits that this machine's memory sets: the strongest plain loops we know, with nothing but
// the memory traffic of a lookup or an update in them. The denominators of the benches' shares.
// Compiled for the machine at hand (-march=native).
#include <algorithm>
#include <cstdint>
#include <iterator>

#include "bench/embedding/loop_tables.h"

namespace tessera::bench {

// Dims that the loops are compiled for.
inline constexpr int64_t kBareDims[] = {16, 32, 64, 128, 256};
inline bool IsBareDim(int64_t dim) {
  return std::ranges::find(kBareDims, dim) != std::end(kBareDims);
}

// The output of bag (t, b) is Σ over its ids of rows[id, :] of table t; ids table-major, offsets
// [T·B + 1]. Rows are prefetched 64 ahead into the second-level cache; the output is written past
// the caches. REQUIRES: f32, IsBareDim of each table.
struct BareGather {
  const LoopTable* tables;
  int64_t num_tables, batch;
  const int64_t *ids, *offsets;
  void Run(int64_t part, int64_t parts) const;
};

// For every distinct row of every table, ascending, its occurrences given: g = Σ grad[occurrence],
// then a step that moves what a rule with such states moves: with a state a row, row-wise Adagrad;
// with one an element, Adagrad; with two, Adam without correction; with none, SGD. The tables'
// `pooled` is the gradient. REQUIRES: f32, IsBareDim of each table.
struct BareUpdate {
  const LoopTable* tables = nullptr;
  float* const* element_states[2] = {};
  int num_element_states = 0;
  float* const* row_states = nullptr;  // or null
  int64_t num_tables = 0;
  const int64_t* unique = nullptr;            // [U] rows, table-major
  const int64_t* table_start = nullptr;       // [T + 1] places in unique
  const int64_t* occurrence_start = nullptr;  // [U + 1] places in grad_rows
  const int32_t* grad_rows = nullptr;         // of each occurrence: its bag in the table
  int64_t ahead = 16;                         // rows of prefetch
  void Run(int64_t part, int64_t parts) const;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_BARE_LOOPS_H_
