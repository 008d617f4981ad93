#ifndef TESSERA_PLANNER_CALIBRATION_MEASURE_STEPS_H_
#define TESSERA_PLANNER_CALIBRATION_MEASURE_STEPS_H_
// Measures whole steps of a few models and plans over 2, 4, … and all ranks, and holds them against
// what the rest of the profile predicts: fills a profile's `steps`.
#include <functional>
#include <string>

#include "comm/communicator.h"
#include "planner/calibration/measure_sizes.h"
#include "planner/step_model/machine_profile.h"
#include "runtime/context.h"

namespace tessera {

// Every rank calls, with the same profile, and gets the same.
void MeasureSteps(Context& ctx, Communicator& comm, const MeasureSizes& sizes,
                  const std::function<void(const std::string&)>& said, MachineProfile& profile);

}  // namespace tessera
#endif  // TESSERA_PLANNER_CALIBRATION_MEASURE_STEPS_H_
