#ifndef TESSERA_PLANNER_SIMULATION_SHARED_CORES_H_
#define TESSERA_PLANNER_SIMULATION_SHARED_CORES_H_
// When each of several pieces of work is done that share the cores of a node.
#include <span>

namespace tessera {

struct CoreWork {
  double start = 0;    // the earliest time
  double seconds = 0;  // on cores of its own
  double end = 0;      // set by RunOnCores
};

// Up to `at_once` pieces run at full speed; of more, all advance alike at at_once ÷ their number,
// as an operating system lets them. REQUIRES: at_once > 0.
void RunOnCores(std::span<CoreWork> pieces, double at_once);

}  // namespace tessera
#endif  // TESSERA_PLANNER_SIMULATION_SHARED_CORES_H_
