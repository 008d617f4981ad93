#include "planner/step_model/rule_by_name.h"

#include <variant>

#include "runtime/check.h"

namespace tessera {
namespace {

template <size_t i>
AnyRule Find(const std::string& name, const std::string& others) {
  if constexpr (i == std::variant_size_v<AnyRule>) {
    throw Error(Format("no rule \"{}\"; expected one of {}", name, others));
  } else {
    using Rule = std::variant_alternative_t<i, AnyRule>;
    if constexpr (requires { Rule::kName; }) {
      if (name == Rule::kName) return Rule{};
      return Find<i + 1>(name, others + (others.empty() ? "" : ", ") + Rule::kName);
    } else {
      return Find<i + 1>(name, others);
    }
  }
}

}  // namespace

AnyRule RuleByName(const std::string& name) { return Find<0>(name, ""); }

}  // namespace tessera
