#ifndef TESSERA_PLANNER_CALIBRATION_MEASURE_DIST_H_
#define TESSERA_PLANNER_CALIBRATION_MEASURE_DIST_H_
// Measures what ranks do around the exchanges of a ShardedTables: fills a profile's `input_dist`,
// `output_dist` and `gradient_dist` by steps of several models and plans, whose counts shard_work.h
// knows and whose times are taken phase by phase.
#include <functional>
#include <string>

#include "planner/calibration/measure_sizes.h"
#include "planner/calibration/rounds.h"
#include "planner/step_model/machine_profile.h"

namespace tessera {

// Every rank calls. REQUIRES: the profile has the collectives over these ranks.
void MeasureDist(Rounds& rounds, const MeasureSizes& sizes,
                 const std::function<void(const std::string&)>& said, MachineProfile& profile);

}  // namespace tessera
#endif  // TESSERA_PLANNER_CALIBRATION_MEASURE_DIST_H_
