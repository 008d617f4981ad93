#ifndef TESSERA_TRAIN_CONFIG_RULE_JSON_H_
#define TESSERA_TRAIN_CONFIG_RULE_JSON_H_
// An optimizer of tables as JSON: {"name": "rowwise_adagrad", "lr": 0.02, "eps": 1e-8, …}. A field
// that is left out has the rule's default.
#include <string>

#include "optim/any_rule.h"
#include "runtime/json/json_object.h"

namespace tessera::internal {

// Throws Error, or adds to `problems`, for an unknown name, listing those there are, an unknown
// field, or a value out of range.
AnyRule RuleFromJson(const Json& value, const std::string& where, JsonProblems* problems = nullptr);

// Every field, in the order of the rule's struct.
Json RuleToJson(const AnyRule& rule);

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_CONFIG_RULE_JSON_H_
