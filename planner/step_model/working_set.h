#ifndef TESSERA_PLANNER_STEP_MODEL_WORKING_SET_H_
#define TESSERA_PLANNER_STEP_MODEL_WORKING_SET_H_
// How many bytes of rows are named between two uses of a row, from which follows what caches do
// (Che's approximation of an LRU):
//
//   W(T) = Σ over groups of rows   rows · bytes · (1 − exp(−uses a step of such a row · T))
//
// are named in T steps; a row that is used every T steps has the working set W(T) / (1 − 1/e),
// which for one table that is used evenly is its size.
#include <vector>

#include "planner/step_model/step_load.h"

namespace tessera {

class WorkingSet {
 public:
  // Takes all ranks' tables; a rank's caches see `share` of them.
  WorkingSet(const StepLoad& load, double ranks, double share);

  // Returns the working set of a row that is used every `steps` steps.
  double Of(double steps) const;

 private:
  std::vector<double> bytes_;  // at steps of equal ratio
};

// Steps between two uses of a row of `group`, where all ranks name `ids` a step.
inline double StepsBetweenUses(const RowGroup& group, double ids) {
  return group.share > 0 && ids > 0 ? group.rows / (group.share * ids) : 1e30;
}

}  // namespace tessera
#endif  // TESSERA_PLANNER_STEP_MODEL_WORKING_SET_H_
