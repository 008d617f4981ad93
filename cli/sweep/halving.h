#ifndef TESSERA_CLI_SWEEP_HALVING_H_
#define TESSERA_CLI_SWEEP_HALVING_H_
// Successive halving (Jamieson and Talwalkar, AISTATS'16): rung r trains its settings until epoch
// min(first·eta^r, last), and the best 1/eta of them, rounded up, make the next rung.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/sweep/sweep_plan.h"

namespace tessera::cli {

struct Rung {
  std::optional<int64_t> epochs;  // absent without halving: those of the configuration
  std::vector<size_t> trials;     // of the plan
};

// The only rung without halving, else the last one that sweep.json in the folder has, or the first.
Rung RungToTrain(const std::string& folder, const SweepPlan& plan);

// The rung after one whose trials are all finished, chosen by a metric ("": that of evaluations),
// by the means over seeds of settings' best values; it is kept in sweep.json. nullopt after the
// last. Throws Error where no trial has a value of the metric.
std::optional<Rung> NextRung(const std::string& folder, SweepPlan& plan, const Rung& rung,
                             const std::string& metric);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SWEEP_HALVING_H_
