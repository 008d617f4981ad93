#ifndef TESSERA_PLANNER_CALIBRATION_MEASURE_DENSE_H_
#define TESSERA_PLANNER_CALIBRATION_MEASURE_DENSE_H_
// Measures linear layers and wire codecs: fills a profile's `dense` and `codecs`.
#include "planner/calibration/measure_sizes.h"
#include "planner/calibration/rounds.h"
#include "planner/step_model/machine_profile.h"

namespace tessera {

// Every rank calls.
void MeasureDense(Rounds& rounds, const MeasureSizes& sizes, MachineProfile& profile);
void MeasureCodecs(Rounds& rounds, const MeasureSizes& sizes, MachineProfile& profile);

}  // namespace tessera
#endif  // TESSERA_PLANNER_CALIBRATION_MEASURE_DENSE_H_
