#ifndef TESSERA_EMBEDDING_ROW_UPDATE_H_
#define TESSERA_EMBEDDING_ROW_UPDATE_H_
// What an update executor works on: the occurrences of one table's rows, sorted by row, and where
// their gradients lie. Plain pointers, passed by value to every machine.
#include <cstdint>

#include "embedding/row_ops.h"
#include "optim/rule.h"

namespace tessera::internal {

// One occurrence of a row in the batch. Sorted by row; equal rows stay in the order of the batch
// (stable).
template <typename Key>
struct Occurrence {
  Key row;
  uint32_t payload;  // see RowUpdateArgs::slots
};

struct RowUpdateArgs {
  float* weights = nullptr;  // [E, dim]
  int64_t dim = 0;
  float* element_states[kMaxElementStates] =
      {};                                 // [E, dim] each; null where the rule's options have none
  float* row_states[kMaxRowStates] = {};  // [E] each

  // Occurrences [begin, end), whole runs of equal rows. wide_rows: Occurrence<uint64_t>, else
  // Occurrence<uint32_t>.
  const void* occurrences = nullptr;
  bool wide_rows = false;
  int64_t begin = 0, end = 0;

  // A slot is one row of the incoming gradient (a bag, or an id under NONE): at grad +
  // slot_offsets[slot], times slot_scales[slot] (null: 1). The payload is the slot, or, if slots is
  // given, the occurrence's number in the table: then the slot is slots[payload] and the gradient
  // is also multiplied by sample_weights[payload].
  const float* grad = nullptr;
  const int64_t* slot_offsets = nullptr;
  const float* slot_scales = nullptr;
  const int32_t* slots = nullptr;
  const float* sample_weights = nullptr;

  // If given, the run [begin, end) is one row whose gradient is summed already: [dim].
  const float* summed = nullptr;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_ROW_UPDATE_H_
