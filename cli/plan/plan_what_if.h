#ifndef TESSERA_CLI_PLAN_PLAN_WHAT_IF_H_
#define TESSERA_CLI_PLAN_PLAN_WHAT_IF_H_
// tessera plan --what-if: plans over a grid of machines and loads.
#include "cli/plan/plan_inputs.h"

namespace tessera::cli {

// REQUIRES: flags.what_if is not empty. Returns the exit code.
int PlanWhatIf(const PlanFlags& flags);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_PLAN_PLAN_WHAT_IF_H_
