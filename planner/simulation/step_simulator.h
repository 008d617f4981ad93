#ifndef TESSERA_PLANNER_SIMULATION_STEP_SIMULATOR_H_
#define TESSERA_PLANNER_SIMULATION_STEP_SIMULATOR_H_
// Plays training steps of many ranks one after another, where the step model (step_model.h) adds up
// the largest parts: ranks whose speed varies, or one that is slow, hold the others up.
//
// A rank works, then exchanges with others: ids, rows, gradients. An exchange ends for a rank when
// every rank that takes part has entered it and the rank's own links have carried its bytes. All
// ranks take part, or, where rows return by node, those of one node and then those of the same
// place in every node; so ranks of different nodes may be at different exchanges. Work shares the
// cores of its node (shared_cores.h). A rank begins its next step when its last exchange has ended.
#include <cstdint>
#include <span>

#include "planner/step_model/step_model.h"

namespace tessera {

struct SimulationOptions {
  int steps = 100;
  int local_size = 1;          // ranks of a node
  int cores = 0, threads = 1;  // of a node, and of a rank; 0: ranks share no cores
  double overhead = 0;         // seconds that each step takes beside (StepOverhead)
  double jitter = 0;           // standard deviation of the time of a piece of work over its mean
  double slow_rank = 1;        // rank 0's work takes so many times as long
  uint64_t seed = 1;           // of the jitter
};

struct SimulatedSteps {
  double mean = 0, p50 = 0, p99 = 0;  // seconds of a step, until its last rank is done
  // Shares of an average rank's time: at work, in exchanges until the last rank has entered them,
  // and after that.
  double working = 0, waiting = 0, exchanging = 0;
};

// Returns the options for the ranks and the machine of the model.
SimulationOptions SimulationOf(const StepModel& model);

// Steps of ranks that do this (StepPrediction::ranks, of StepModel::Predict). Equal arguments give
// equal results. Throws Error for options below their least: steps 1, local_size 1 (which divides
// the ranks), threads 1, jitter 0, slow_rank above 0.
SimulatedSteps SimulateSteps(std::span<const RankSeconds> ranks, const SimulationOptions& options);

}  // namespace tessera
#endif  // TESSERA_PLANNER_SIMULATION_STEP_SIMULATOR_H_
