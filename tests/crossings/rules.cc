#include "tests/crossings/rules.h"

#include <map>

#include "embedding/custom_rule.h"
#include "tests/testing/rules.h"

namespace tessera::testing {
namespace {

// w −= lr·(g + state/2);  state = g. One number an element.
struct RememberedGradient {
  float lr = 0.1f;
  static constexpr const char* kName = "remembered_gradient";
  StateSpecs States() const { return {{"last"}}; }

  struct Step {
    static constexpr int kStatistics = 0, kElementStates = 1, kRowStates = 0;
    float lr;
    struct Row {};
    TESSERA_HD Row BeginRow(const float*, int64_t, float*) const { return {}; }
    template <typename Real>
    TESSERA_HD void Update(const Row&, RowElement<Real>& x, Real* state) const {
      x.w = x.w - Real(lr) * (x.g + state[0] * Real(0.5f));
      state[0] = x.g;
    }
  };
  Step AtStep(int64_t) const { return {lr}; }
};

// In order: sgd, momentum_sgd, momentum_sgd_2, …
const std::vector<std::pair<std::string, AnyRule>>& NamedRules() {
  static const auto rules = [] {
    std::vector<std::pair<std::string, AnyRule>> named;
    std::map<std::string, int> count;
    for (const AnyRule& rule : AllRules()) {
      const std::string name = RuleName(rule);
      const int n = ++count[name];
      named.emplace_back(n == 1 ? name : name + "_" + std::to_string(n), rule);
    }
    named.emplace_back("custom", MakeCustomRule(RememberedGradient{}));
    return named;
  }();
  return rules;
}

}  // namespace

std::vector<std::string> RuleNames() {
  std::vector<std::string> names;
  for (const auto& [name, rule] : NamedRules()) names.push_back(name);
  return names;
}

AnyRule RuleNamed(const std::string& name) {
  if (name == kDenseRule) return Dense{};
  for (const auto& [known, rule] : NamedRules())
    if (known == name) return rule;
  throw Error("there is no rule " + name);
}

}  // namespace tessera::testing
