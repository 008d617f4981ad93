#include "train/config/rule_json.h"

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "optim/rule_options.h"
#include "runtime/base/nearest.h"
#include "runtime/json/json_kinds.h"
#include "train/config/number_json.h"

namespace tessera::internal {
namespace {

void ReadField(JsonObject& object, const char* key, bool& field) { object.Optional(key, field); }

void ReadField(JsonObject& object, const char* key, std::floating_point auto& field) {
  Json bounds = NumberFieldBounds(key);
  if (IsDecay(key)) bounds["exclusiveMaximum"] = 1;
  const Json* value = object.Find(key, SchemaOf(field));
  object.Note(key, bounds);
  if (value == nullptr) return;
  double number = 0;
  ReadJson(*value, object.at(key), number);
  CheckNumberField(key, number, object.at(key));
  if (IsDecay(key) && number >= 1)
    throw Error(Format("{}: expected a number below 1, got {}", object.at(key), number));
  ReadJson(*value, object.at(key), field);
}

void ReadField(JsonObject& object, const char* key, int64_t& field) { object.Optional(key, field); }

void ReadField(JsonObject& object, const char* key, WeightDecayMode& field) {
  using Mode = WeightDecayMode;
  object.OptionalWord(key, field, {Mode::kNone, Mode::kL2, Mode::kDecouple, Mode::kAdagradW});
}
void ReadField(JsonObject& object, const char* key, CounterRateMode& field) {
  using Mode = CounterRateMode;
  object.OptionalWord(
      key, field,
      {Mode::kEqual, Mode::kTailIdLrIncrease, Mode::kTailIdLrDecrease, Mode::kCounterSgd});
}
void ReadField(JsonObject& object, const char* key, EnsembleStepMode& field) {
  object.OptionalWord(key, field, {EnsembleStepMode::kNone, EnsembleStepMode::kUseIter});
}

Json FieldToJson(bool field) { return field; }
Json FieldToJson(int64_t field) { return field; }
template <typename Mode>
requires std::is_enum_v<Mode> Json FieldToJson(Mode field) { return ToString(field); }
Json FieldToJson(float field) { return ShortestDouble(field); }
Json FieldToJson(double field) { return field; }

JsonKinds RuleKinds() {
  JsonKinds kinds = {.key = "name", .words = {}};
  ForEachNamedRule([&](auto rule) { kinds.words.emplace_back(rule.kName); });
  return kinds;
}

AnyRule ReadRule(const Json& value, const std::string& where, JsonProblems* problems) {
  JsonObject object(value, where, problems);
  std::string name;
  std::vector<std::string> names;
  object.Required("name", name);
  std::optional<AnyRule> made;
  ForEachNamedRule([&](auto rule) {
    names.emplace_back(rule.kName);
    if (name != rule.kName) return;
    VisitRuleOptions(rule, [&](const char* key, auto& field) {
      object.Try([&] { ReadField(object, key, field); });
    });
    object.Finish();
    made = rule;
  });
  if (!made)
    throw Error(
        Format("{}: {}", object.at("name"), NoneIsCalled("optimizer of tables", name, names)));
  try {
    CheckRule(*made);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
  return *made;
}

}  // namespace

AnyRule RuleFromJson(const Json& value, const std::string& where, JsonProblems* problems) {
  return ReadKinds(value, problems, RuleKinds(),
                   [&](const Json& rule, JsonProblems* of) { return ReadRule(rule, where, of); });
}

Json RuleToJson(const AnyRule& rule) {
  Json json = {{"name", RuleName(rule)}};
  std::visit(
      [&]<typename Rule>(Rule copy) {
        if constexpr (kNamedRule<Rule>)
          VisitRuleOptions(copy,
                           [&](const char* key, auto& field) { json[key] = FieldToJson(field); });
      },
      rule);
  return json;
}

}  // namespace tessera::internal
