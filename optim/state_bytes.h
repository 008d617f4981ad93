#ifndef TESSERA_OPTIM_STATE_BYTES_H_
#define TESSERA_OPTIM_STATE_BYTES_H_
// The one count of what a rule remembers.
#include "optim/any_rule.h"
#include "runtime/numbers/dtype.h"

namespace tessera {

// Bytes of a row of so many columns, whose states are of `state_type`.
inline int64_t StateBytesARow(const AnyRule& rule, DType state_type, int64_t columns) {
  int64_t bytes = 0;
  for (const StateSpec& state : RuleStates(rule))
    bytes += SizeOf(state.counts ? DType::kF32 : state_type) * (state.per_row ? 1 : columns);
  return bytes;
}

}  // namespace tessera
#endif  // TESSERA_OPTIM_STATE_BYTES_H_
