#ifndef TESSERA_EMBEDDING_UPDATE_ROW_UPDATE_H_
#define TESSERA_EMBEDDING_UPDATE_ROW_UPDATE_H_
// Input of an update executor: the occurrences of one table's rows, sorted by row, and where their
// gradients lie. Plain pointers, passed by value to every machine.
#include <cstdint>

#include "embedding/lookup/row_ops.h"
#include "embedding/update/row_rounding.h"
#include "optim/rules/rule.h"
#include "runtime/numbers/dtype.h"

namespace tessera::internal {

// One occurrence of a row in the batch. Sorted by row; equal rows stay in the order of the batch
// (stable).
template <typename Key>
struct Occurrence {
  Key row;
  uint32_t payload;  // see RowUpdateArgs::slots
};

// One thing that a rule remembers, in memory; null where the rule's options have none.
struct StateArray {
  void* data = nullptr;
  DType type = DType::kF32;
};

// A table as a rule sees it.
struct ExecutorTable {
  void* weights = nullptr;  // [E, dim]
  DType row_type = DType::kF32;
  int64_t dim = 0;
  StateArray element_states[kMaxElementStates] = {};  // [E, dim] each
  StateArray row_states[kMaxRowStates] = {};          // [E] each
  RowRounding rounding = {};
  int64_t step = 0;
  float gradient_scale = 1;

  // Whether no row has to be widened or rounded.
  TESSERA_HD bool all_f32() const {
    bool all = row_type == DType::kF32;
    for (int s = 0; s < kMaxElementStates; ++s) all = all && element_states[s].type == DType::kF32;
    for (int s = 0; s < kMaxRowStates; ++s) all = all && row_states[s].type == DType::kF32;
    return all;
  }
};

// The gradient of a row: scale · (coefficient · data[0 … dim)).
struct ScaledGradient {
  const float* data;
  float coefficient;
  float scale = 1;
};
// The gradient of one occurrence: coefficient · data[0 … dim), each number widened to f32 first.
template <typename T>
struct OccurrenceGradient {
  const T* data;
  float coefficient;
};

struct RunSum;

struct RowUpdateArgs {
  ExecutorTable table;

  // Occurrences [begin, end), whole runs of equal rows. wide_rows: Occurrence<uint64_t>, else
  // Occurrence<uint32_t>.
  const void* occurrences = nullptr;
  bool wide_rows = false;
  int64_t begin = 0, end = 0;

  // A slot is one row of the incoming gradient (a bag, or an id under NONE): from element
  // slot_offsets[slot] (null: slot · slot_stride) of grad on, times slot_scales[slot] (null: 1).
  // The payload is the slot, or, if slots is given, the occurrence's number in the table: then the
  // slot is slots[payload] and the gradient is also multiplied by sample_weights[payload].
  const void* grad = nullptr;  // of grad_type: f32, f16 or bf16
  DType grad_type = DType::kF32;
  int64_t slot_stride = 0;
  const int64_t* slot_offsets = nullptr;
  const float* slot_scales = nullptr;
  const int32_t* slots = nullptr;
  const float* sample_weights = nullptr;

  const RunSum* run_sum = nullptr;
  // If given, the run [begin, end) is one row whose gradient is summed already: [dim].
  const float* summed = nullptr;

  // The row of occurrence i.
  TESSERA_HD int64_t RowAt(int64_t i) const {
    return wide_rows
               ? static_cast<int64_t>(static_cast<const Occurrence<uint64_t>*>(occurrences)[i].row)
               : static_cast<int64_t>(static_cast<const Occurrence<uint32_t>*>(occurrences)[i].row);
  }
  // The gradient of an occurrence. REQUIRES: T is the C++ type of grad_type.
  template <typename T>
  TESSERA_HD OccurrenceGradient<T> GradientOf(uint32_t payload) const {
    const uint32_t slot = SlotOf(payload);
    float coefficient = slot_scales != nullptr ? slot_scales[slot] : 1.0f;
    if (slots != nullptr) coefficient = sample_weights[payload] * coefficient;
    return {static_cast<const T*>(grad) + OffsetOf(slot), coefficient};
  }
  // Where the gradient of an occurrence begins.
  TESSERA_HD const char* GradientAt(uint32_t payload) const {
    return static_cast<const char*>(grad) + OffsetOf(SlotOf(payload)) * grad_bytes();
  }
  TESSERA_HD int64_t grad_bytes() const { return grad_type == DType::kF32 ? 4 : 2; }
  TESSERA_HD uint32_t SlotOf(uint32_t payload) const {
    return slots != nullptr ? static_cast<uint32_t>(slots[payload]) : payload;
  }
  // In elements of grad.
  TESSERA_HD int64_t OffsetOf(uint32_t slot) const {
    return slot_offsets != nullptr ? slot_offsets[slot] : slot * slot_stride;
  }
  TESSERA_HD uint32_t PayloadAt(int64_t i) const {
    return wide_rows ? static_cast<const Occurrence<uint64_t>*>(occurrences)[i].payload
                     : static_cast<const Occurrence<uint32_t>*>(occurrences)[i].payload;
  }
};

// How runs of one table are summed: functions for its dim, chosen once (run_sum_simd.cc).
struct RunSum {
  // Columns from `column` on of the summed gradient of the run [begin, end); the last has `tail`
  // columns beside its whole packs.
  using Columns = void (*)(const RowUpdateArgs&, int64_t begin, int64_t end, int64_t column,
                           int tail, float* sum);
  Columns full = nullptr, last = nullptr;
  int64_t block = 1, full_columns = 0;
  int tail = 0;

  TESSERA_HD void operator()(const RowUpdateArgs& a, int64_t begin, int64_t end, float* sum) const {
    for (int64_t column = 0; column < full_columns; column += block)
      full(a, begin, end, column, 0, sum);
    if (last != nullptr) last(a, begin, end, full_columns, tail, sum);
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_ROW_UPDATE_H_
