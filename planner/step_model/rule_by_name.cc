#include "planner/step_model/rule_by_name.h"

#include <optional>

#include "embedding/plugin_rules.h"
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
  if (const RulePlugin* plugin = FindRulePlugin(name)) return MakePluginRule(*plugin);
  if (!found)
    throw Error(
        Format("no rule \"{}\"; expected one of {}, or that of a shared object, by "
               "--plugin FILE",
               name, known));
  return *found;
}

}  // namespace tessera
