#ifndef TESSERA_BENCH_EMBEDDING_ANY_LOOPS_H_
#define TESSERA_BENCH_EMBEDDING_ANY_LOOPS_H_
// The loops of bare_loops.h for rows of any dim and of f32, f16 or bf16, with states and outputs of
// types of their own, and for sequences: the limit of just this row size and its alignment. A row
// that is no multiple of a cache line lies across one line more than it fills; the loop reads the
// same memory at the same places. Compiled for the machine at hand (-march=native).
#include <cstdint>

#include "bench/embedding/loop_tables.h"
#include "runtime/numbers/dtype.h"

namespace tessera::bench {

// The loop of BareGather. With `sequence`, every id has an output. REQUIRES: ids name rows.
struct AnyGather {
  const LoopTable* tables = nullptr;
  DType row_type = DType::kF32, output_type = DType::kF32;
  int64_t num_tables = 0, batch = 0;
  const int64_t *ids = nullptr, *offsets = nullptr;
  bool sequence = false;
  void Run(int64_t part, int64_t parts) const;
};

// The loop of BareUpdate. The gradient is f32.
struct AnyUpdate {
  const LoopTable* tables = nullptr;
  void* const* element_states[2] = {};
  int num_element_states = 0;
  void* const* row_states = nullptr;  // or null
  DType row_type = DType::kF32, state_type = DType::kF32;
  int64_t num_tables = 0;
  const int64_t* unique = nullptr;
  const int64_t* table_start = nullptr;
  const int64_t* occurrence_start = nullptr;
  const int32_t* grad_rows = nullptr;
  int64_t ahead = 16;
  void Run(int64_t part, int64_t parts) const;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_ANY_LOOPS_H_
