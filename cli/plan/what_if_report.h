#ifndef TESSERA_CLI_PLAN_WHAT_IF_REPORT_H_
#define TESSERA_CLI_PLAN_WHAT_IF_REPORT_H_
// Plans over a grid in words and as JSON.
#include <string>

#include "planner/what_if.h"

namespace tessera::cli {

struct WhatIfFacts {
  std::string cost_model;
  int measured_ranks = 0;  // of a calibrated machine; else 0
};

// A row a point, why no plan fits, and which change would help the most.
std::string WhatIfText(const WhatIf& what_if, const WhatIfFacts& facts);

// {"cost_model", "axes": [{"key", "values", "current"}], "points": [{"point", "values", "current",
//  "step_ms", …} or {…, "no_plan": "why"}], "fastest_point", "cheapest_point", "best_change"};
// points are numbered from 1.
std::string WhatIfJson(const WhatIf& what_if, const WhatIfFacts& facts);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_PLAN_WHAT_IF_REPORT_H_
