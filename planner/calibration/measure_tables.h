#ifndef TESSERA_PLANNER_CALIBRATION_MEASURE_TABLES_H_
#define TESSERA_PLANNER_CALIBRATION_MEASURE_TABLES_H_
// Measures what lookup and update cost: fills a profile's `lookup`, `update` and `kernels`.
#include <functional>
#include <string>

#include "planner/calibration/measure_sizes.h"
#include "planner/calibration/rounds.h"
#include "planner/step_model/machine_profile.h"

namespace tessera {

// Every rank calls; `said` hears what comes next.
void MeasureTables(Rounds& rounds, const MeasureSizes& sizes,
                   const std::function<void(const std::string&)>& said, MachineProfile& profile);

}  // namespace tessera
#endif  // TESSERA_PLANNER_CALIBRATION_MEASURE_TABLES_H_
