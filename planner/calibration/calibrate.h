#ifndef TESSERA_PLANNER_CALIBRATION_CALIBRATE_H_
#define TESSERA_PLANNER_CALIBRATION_CALIBRATE_H_
// Measures a machine: what its ranks need for the pieces of a training step, by the library's
// public classes and the communicator that training will use. Under two minutes with the defaults
// on two cores.
#include <cstdint>
#include <functional>
#include <string>

#include "comm/communicator.h"
#include "planner/calibration/measure_sizes.h"
#include "planner/step_model/machine_profile.h"
#include "runtime/context.h"

namespace tessera {

struct CalibrateOptions {
  MeasureSizes sizes = {};
  int cores = 0;       // of the node; 0: as many as the machine says, or, on a GPU, one a rank
  int local_size = 0;  // ranks of a node, which divide all ranks; 0: all are on one
  // Called on rank 0 with what is measured next, and how much is done, from 0 to 1.
  std::function<void(const std::string&, double)> progress = {};
};

// Every rank calls, with a context of as many threads as a training rank will have; all get the
// same. As many ranks measure at a time as have cores.
MachineProfile Calibrate(Context& ctx, Communicator& comm, const CalibrateOptions& options = {});

}  // namespace tessera
#endif  // TESSERA_PLANNER_CALIBRATION_CALIBRATE_H_
