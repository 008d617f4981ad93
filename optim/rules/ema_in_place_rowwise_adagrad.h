#ifndef TESSERA_OPTIM_RULES_EMA_IN_PLACE_ROWWISE_ADAGRAD_H_
#define TESSERA_OPTIM_RULES_EMA_IN_PLACE_ROWWISE_ADAGRAD_H_
// Row-wise Adagrad whose rows are halves, fast and slow (FBGEMM's EMAINPLACE_ROWWISE_ADAGRAD).
// Before the forward of every step t ≥ step_start that step_ema divides, over the whole table
// (table_sweep.h):  second half += step_ema_coef·(first half − second half).
#include "optim/rules/rowwise_adagrad.h"
#include "optim/rules/table_sweep.h"

namespace tessera {

struct EmaInPlaceRowwiseAdagrad {
  float lr = 0.01f;
  float eps = 1e-8f;
  float weight_decay = 0;
  WeightDecayMode weight_decay_mode = WeightDecayMode::kNone;  // not kAdagradW
  int64_t step_ema = 10, step_start = 0;
  float step_ema_coef = 0.6f;

  static constexpr const char* kName = "emainplace_rowwise_adagrad";
  StateSpecs States() const { return {{"momentum1", true}}; }
  TableSweep SweepAt(int64_t t) const;

  using Step = RowwiseAdagrad::Step;
  Step AtStep(int64_t) const { return {lr, eps, weight_decay, weight_decay_mode, 0}; }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_EMA_IN_PLACE_ROWWISE_ADAGRAD_H_
