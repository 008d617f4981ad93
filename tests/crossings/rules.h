#ifndef TESSERA_TESTS_CROSSINGS_RULES_H_
#define TESSERA_TESTS_CROSSINGS_RULES_H_
// Every rule of the library that updates rows, and one from outside it, by name.
#include <string>
#include <vector>

#include "optim/any_rule.h"

namespace tessera::testing {

std::vector<std::string> RuleNames();
// Rule of tables that the optimizer of the dense part trains; it is not among these.
inline constexpr char kDenseRule[] = "dense";
AnyRule RuleNamed(const std::string& name);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_CROSSINGS_RULES_H_
