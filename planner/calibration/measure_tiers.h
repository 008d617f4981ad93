#ifndef TESSERA_PLANNER_CALIBRATION_MEASURE_TIERS_H_
#define TESSERA_PLANNER_CALIBRATION_MEASURE_TIERS_H_
// Measures what tables elsewhere than in their device's memory cost: fills a profile's `tiers`, of
// host memory behind a GPU, of caches and of disks.
#include <functional>
#include <string>

#include "planner/calibration/measure_sizes.h"
#include "planner/calibration/rounds.h"
#include "planner/step_model/machine_profile.h"

namespace tessera {

// Every rank calls. A CPU has no other memory than its own, so that kFusedUvm is not measured
// there.
void MeasureTiers(Rounds& rounds, const MeasureSizes& sizes,
                  const std::function<void(const std::string&)>& said, MachineProfile& profile);

}  // namespace tessera
#endif  // TESSERA_PLANNER_CALIBRATION_MEASURE_TIERS_H_
