#ifndef TESSERA_OPTIM_RULES_ENSEMBLE_ROWWISE_ADAGRAD_H_
#define TESSERA_OPTIM_RULES_ENSEMBLE_ROWWISE_ADAGRAD_H_
// Row-wise Adagrad with a slow copy of the table, the state momentum2 (FBGEMM's
// ENSEMBLE_ROWWISE_ADAGRAD). Before the forward of step t, over the whole table (table_sweep.h):
//
//   step_ema divides t:   S += (1 − coef)·(w − S),  coef = 0 while t ≤ step_start,
//                         else step_ema_coef
//   step_swap divides t:  w = S
//   after an ema step, with step_mode NONE:  S = 0
#include <string>

#include "optim/rules/rowwise_adagrad.h"
#include "optim/rules/table_sweep.h"

namespace tessera {

enum class EnsembleStepMode { kNone, kUseIter };
std::string ToString(EnsembleStepMode mode);  // "NONE", "USE_ITER"
EnsembleStepMode ParseEnsembleStepMode(const std::string& name);

struct EnsembleRowwiseAdagrad {
  float lr = 0.01f;
  float eps = 1e-8f;
  float weight_decay = 0;
  WeightDecayMode weight_decay_mode = WeightDecayMode::kNone;  // not kAdagradW
  int64_t step_ema = 10000, step_swap = 10000, step_start = 0;
  float step_ema_coef = 0.6f;
  EnsembleStepMode step_mode = EnsembleStepMode::kUseIter;

  static constexpr const char* kName = "ensemble_rowwise_adagrad";
  StateSpecs States() const { return {{"momentum1", true}, {"momentum2"}}; }
  TableSweep SweepAt(int64_t t) const;

  using Step = RowwiseAdagrad::Step;
  Step AtStep(int64_t) const { return {lr, eps, weight_decay, weight_decay_mode, 0}; }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_ENSEMBLE_ROWWISE_ADAGRAD_H_
