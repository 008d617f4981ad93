#include "planner/step_model/rule_by_name.h"

#include <optional>

#include "optim/rule_options.h"
#include "runtime/base/check.h"

namespace tessera {

AnyRule RuleByName(const std::string& name) {
  std::optional<AnyRule> found;
  std::string known;
  const auto look = [&](const auto& rule) {
    known += (known.empty() ? "" : ", ") + std::string(rule.kName);
    if (name == rule.kName) found = rule;
  };
  ForEachNamedRule(look);
  look(None{});
  if (!found) throw Error(Format("no rule \"{}\"; expected one of {}", name, known));
  return *found;
}

}  // namespace tessera
