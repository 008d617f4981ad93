#ifndef TESSERA_OPTIM_RULES_ROW_COUNTER_H_
#define TESSERA_OPTIM_RULES_ROW_COUNTER_H_
// How often a row came, forgotten with a half-life: what row-wise Adagrad with counter and with
// cow-clip keep beside the gradient's sum.
//
//   Δ = 1 if the row is new, else t − prev_iter
//   k = 1 + k·2^(−Δ/halflife) (halflife > 0), 1 (= 0), k + 1 (< 0);   prev_iter = t
#include "optim/rules/rule.h"
#include "optim/rules/weight_decay.h"

namespace tessera {

struct RowCount {
  float since, count;  // Δ, k
};

// state: prev_iter, row_counter.
TESSERA_HD RowCount CountRow(int64_t t, int64_t halflife, float* state) {
  const float now = static_cast<float>(t), since = state[0] == 0.0f ? 1.0f : now - state[0];
  if (halflife > 0)
    state[1] =
        1.0f + state[1] * static_cast<float>(Exp2(-double{since} / static_cast<double>(halflife)));
  else
    state[1] = halflife == 0 ? 1.0f : state[1] + 1.0f;
  state[0] = now;
  return {since, state[1]};
}

inline StateSpecs CountedRowStates() {
  return {{"momentum1", true}, {"prev_iter", true, true}, {"row_counter", true, true}};
}

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_ROW_COUNTER_H_
