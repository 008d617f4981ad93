#ifndef TESSERA_PLANNER_CALIBRATION_MEASURE_COLLECTIVES_H_
#define TESSERA_PLANNER_CALIBRATION_MEASURE_COLLECTIVES_H_
// Measures a communicator's collectives by size, over 2, 4, 8, … and all of its ranks, and over the
// two kinds of links of nodes.
#include <functional>
#include <string>

#include "comm/communicator.h"
#include "planner/calibration/measure_sizes.h"
#include "planner/step_model/machine_profile.h"
#include "runtime/context.h"

namespace tessera {

// Adds to `profile`, on every rank the same. local_size: ranks of a node, which divide those of
// `comm`. Every rank calls.
void MeasureCollectives(Context& ctx, Communicator& comm, int local_size, const MeasureSizes& sizes,
                        const std::function<void(const std::string&)>& said,
                        MachineProfile& profile);

}  // namespace tessera
#endif  // TESSERA_PLANNER_CALIBRATION_MEASURE_COLLECTIVES_H_
