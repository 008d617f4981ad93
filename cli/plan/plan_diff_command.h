#ifndef TESSERA_CLI_PLAN_PLAN_DIFF_COMMAND_H_
#define TESSERA_CLI_PLAN_PLAN_DIFF_COMMAND_H_
// tessera plan diff: what changes from one plan to another.
#include "cli/command_line.h"

namespace tessera::cli {

// Adds it to tessera plan.
void AddPlanDiff(Command plan);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_PLAN_PLAN_DIFF_COMMAND_H_
