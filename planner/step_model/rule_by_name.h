#ifndef TESSERA_PLANNER_STEP_MODEL_RULE_BY_NAME_H_
#define TESSERA_PLANNER_STEP_MODEL_RULE_BY_NAME_H_
// Rules of the library by name, with their defaults.
#include <string>

#include "optim/any_rule.h"

namespace tessera {

// Throws Error for a rule that the library does not have, listing those it has.
AnyRule RuleByName(const std::string& name);

}  // namespace tessera
#endif  // TESSERA_PLANNER_STEP_MODEL_RULE_BY_NAME_H_
