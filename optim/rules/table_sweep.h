#ifndef TESSERA_OPTIM_RULES_TABLE_SWEEP_H_
#define TESSERA_OPTIM_RULES_TABLE_SWEEP_H_
// Some rules change all rows of a table before the forward of a step, touched or not:
//
//   EMA in place   the second half of the columns follows the first:
//                  w[d] += coef·(w[d − D/2] − w[d]),  d ≥ D/2
//   ensemble       a slow copy S (momentum2) follows w and takes its place from time to time:
//                  S += follow·(w − S)  where ema;  w = S  where swap;  S = 0  where clear
#include "optim/rules/rule.h"

namespace tessera {

struct TableSweep {
  bool halves = false;  // EMA in place; else the ensemble's three
  float coef = 0;
  bool ema = false, swap = false, clear = false;
  float follow = 0;

  bool any() const { return halves || ema || swap; }

  // One element of a table's second half, by the element of the first half that leads it.
  TESSERA_HD float Led(float w, float leader) const { return w + coef * (leader - w); }
  // One element and its slow copy.
  TESSERA_HD void Ensemble(float& w, float& slow) const {
    if (ema) slow = slow + follow * (w - slow);
    if (swap) w = slow;
    if (clear) slow = 0;
  }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_TABLE_SWEEP_H_
