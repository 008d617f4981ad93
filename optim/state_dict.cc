#include "optim/state_dict.h"

#include <cmath>
#include <set>

#include "runtime/base/joined.h"

namespace tessera::internal {
namespace {

std::string Listed(const std::vector<std::string>& keys) { return JoinedFirst(keys, 5, InQuotes); }

}  // namespace

void CheckStatesOf(const std::string& key, const std::map<std::string, Tensor>& given,
                   std::span<const ExpectedState> expected) {
  std::set<std::string> names;
  for (const ExpectedState& state : expected) names.insert(state.name);
  for (const auto& [name, tensor] : given)
    TESSERA_CHECK(names.contains(name),
                  "optimizer state: '{}' has a state '{}', which this optimizer does not keep", key,
                  name);
  for (const ExpectedState& state : expected) {
    const auto found = given.find(state.name);
    TESSERA_CHECK(found != given.end() && found->second.defined(),
                  "optimizer state: '{}' lacks the state '{}'", key, state.name);
    TESSERA_CHECK_EQ(found->second.shape(), state.shape, "optimizer state '{}' of '{}'", state.name,
                     key);
    TESSERA_CHECK_EQ(found->second.dtype(), state.dtype, "optimizer state '{}' of '{}'", state.name,
                     key);
  }
}

void CheckHasKeys(const OptimizerStateDict& state, const std::vector<std::string>& required) {
  std::vector<std::string> missing;
  for (const std::string& key : required)
    if (!state.contains(key)) missing.push_back(key);
  TESSERA_CHECK(missing.empty(), "optimizer state: it lacks {}, of which this optimizer has state",
                Listed(missing));
}

void CheckHasOnlyKeys(const OptimizerStateDict& state, const std::vector<std::string>& known) {
  const std::set<std::string> all(known.begin(), known.end());
  std::vector<std::string> surplus;
  for (const auto& [key, states] : state) {
    if (all.contains(key)) continue;
    if (states.empty()) surplus.push_back(key);
    for (const auto& [name, tensor] : states) surplus.push_back(PrefixedKey(key, name));
  }
  TESSERA_CHECK(surplus.empty(), "optimizer state: it has {}, which this optimizer does not have",
                Listed(surplus));
}

void CheckKeysAreUnique(const std::vector<std::string>& keys) {
  std::set<std::string> seen;
  for (const std::string& key : keys)
    TESSERA_CHECK(seen.insert(key).second, "optimizer: two parameters have the key '{}'", key);
}

void CheckVariablesAreUnique(const std::vector<NamedParameter>& parameters) {
  for (size_t i = 0; i < parameters.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      TESSERA_CHECK(!parameters[i].variable || !parameters[i].variable.is(parameters[j].variable),
                    "optimizer: '{}' and '{}' are one variable, which would be stepped twice",
                    parameters[j].name, parameters[i].name);
}

void CheckGroup(int group, int num_groups) {
  TESSERA_CHECK(group >= 0 && group < num_groups, "optimizer: group {} of {}", group, num_groups);
}

void CheckLearningRate(double lr) {
  TESSERA_CHECK(std::isfinite(lr) && lr >= 0,
                "optimizer: learning rate {}; expected a finite number of at least 0", lr);
}

std::string PrefixedKey(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

}  // namespace tessera::internal
