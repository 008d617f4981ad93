#include "train/config/rule_json.h"

#include <algorithm>
#include <concepts>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "embedding/plugin_rules.h"
#include "optim/rule_options.h"
#include "runtime/base/nearest.h"
#include "runtime/json/json_kinds.h"
#include "train/config/number_json.h"

namespace tessera::internal {
namespace {

void ReadRuleField(JsonObject& object, const char* key, bool& field) {
  object.Optional(key, field);
}

void ReadRuleField(JsonObject& object, const char* key, std::floating_point auto& field) {
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

void ReadRuleField(JsonObject& object, const char* key, int64_t& field) {
  object.Optional(key, field);
}
void ReadRuleField(JsonObject& object, const char* key, int& field) {
  int64_t whole = field;
  object.Optional(key, whole);
  using Limits = std::numeric_limits<int>;
  if (whole < Limits::min() || whole > Limits::max())
    throw Error(Format("{}: expected an integer of 32 bits, got {}", object.at(key), whole));
  field = static_cast<int>(whole);
}

void ReadRuleField(JsonObject& object, const char* key, WeightDecayMode& field) {
  using Mode = WeightDecayMode;
  object.OptionalWord(key, field, {Mode::kNone, Mode::kL2, Mode::kDecouple, Mode::kAdagradW});
}
void ReadRuleField(JsonObject& object, const char* key, CounterRateMode& field) {
  using Mode = CounterRateMode;
  object.OptionalWord(
      key, field,
      {Mode::kEqual, Mode::kTailIdLrIncrease, Mode::kTailIdLrDecrease, Mode::kCounterSgd});
}
void ReadRuleField(JsonObject& object, const char* key, EnsembleStepMode& field) {
  object.OptionalWord(key, field, {EnsembleStepMode::kNone, EnsembleStepMode::kUseIter});
}

Json FieldToJson(bool field) { return field; }
Json FieldToJson(int field) { return field; }
Json FieldToJson(int64_t field) { return field; }
template <typename Mode>
requires std::is_enum_v<Mode> Json FieldToJson(Mode field) { return ToString(field); }
Json FieldToJson(float field) { return ShortestDouble(field); }
Json FieldToJson(double field) { return field; }

void CheckRuleAt(const AnyRule& rule, const std::string& where) {
  try {
    CheckRule(rule);
    if (const PluginRule* of_plugin = PluginRuleIn(rule)) of_plugin->CheckOptions();
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
}

JsonKinds RuleKinds() {
  JsonKinds kinds = {.key = kRuleNameKey, .words = {}};
  ForEachNamedRule([&](auto rule) { kinds.words.emplace_back(rule.kName); });
  return kinds;
}

// ---- rules of plugins

constexpr char kStates[] = "states", kSha256[] = "sha256";

std::vector<std::string> StateTexts(const AnyRule& rule) {
  std::vector<std::string> texts;
  for (const StateSpec& state : RuleStates(rule)) texts.push_back(StateText(state));
  return texts;
}

// A saved configuration describes the rule, so that the model is read without the plugin.
Json PluginJson(const PluginRule& rule, const AnyRule& any) {
  return {{kSha256, rule.plugin().sha256}, {kStates, StateTexts(any)}};
}

// The states that a saved configuration says the rule had; absent where it says nothing of them.
std::optional<std::vector<std::string>> ReadPluginPart(JsonObject& object) {
  std::optional<std::vector<std::string>> states;
  object.Part(kRulePluginKey, JsonNeed::kOptional,
              [&](const Json& value, const std::string& where, JsonProblems* problems) {
                JsonObject part(value, where, problems);
                std::string sha256;
                part.Optional(kSha256, sha256);
                std::vector<std::string> read;
                part.Required(kStates, read);
                part.Finish();
                states = std::move(read);
              });
  return states;
}

// An option with a name of the library's has its bounds, too.
template <typename Option>
void ReadPluginOption(JsonObject& object, const char* key, Option& option) {
  if (IsRuleOption(key) || !std::is_floating_point_v<Option>)
    ReadRuleField(object, key, option);
  else
    object.Optional(key, option);
}

AnyRule ReadPluginRule(const RulePlugin& plugin, const Json& value, const std::string& where,
                       JsonProblems* problems) {
  JsonObject object(value, where, problems);
  object.Find(kRuleNameKey);
  auto rule = std::make_shared<PluginRule>(plugin);
  rule->VisitOptions([&](const char* key, auto& option) {
    object.Try([&] { ReadPluginOption(object, key, option); });
  });
  const auto saved = ReadPluginPart(object);
  object.Finish();
  AnyRule made = MakePluginRule(std::move(rule));
  CheckRuleAt(made, where);
  if (saved && *saved != StateTexts(made))
    throw Error(Format(
        "{}: the rule {} of --plugin {} remembers {}, but the one that saved this "
        "remembered {}: give the plugin that it was trained with",
        where, plugin.rule(), plugin.path, Json(StateTexts(made)).dump(), Json(*saved).dump()));
  return made;
}

AnyRule ReadAbsentRule(const std::string& name, const Json& value, const std::string& where) {
  JsonObject object(value, where);
  return CustomRule{0, std::make_shared<AbsentRule>(name, *ReadPluginPart(object), value.dump())};
}

bool IsOfLibrary(const std::string& name) {
  return std::ranges::count(RuleKinds().words, name) > 0;
}

// Whether the library has no rule of this name, and none that is near to it: another plugin's.
bool IsOfNobody(const std::string& name) {
  return !name.empty() && Nearest(name, RuleKinds().words).empty();
}

std::string NameIn(const Json& value) {
  const bool has_name =
      value.is_object() && value.contains(kRuleNameKey) && value[kRuleNameKey].is_string();
  return has_name ? value[kRuleNameKey].get<std::string>() : std::string();
}

// ----

[[noreturn]] void ThrowUnknownRule(const std::string& name, const std::string& where) {
  std::vector<std::string> names = RuleKinds().words;
  for (const RulePlugin* plugin : LoadedRulePlugins()) names.push_back(plugin->rule());
  throw Error(Format("{}.{}: {}; --plugin FILE adds that of a shared object", where, kRuleNameKey,
                     NoneIsCalled("optimizer of tables", name, names)));
}

AnyRule ReadRule(const Json& value, const std::string& where, JsonProblems* problems) {
  JsonObject object(value, where, problems);
  std::string name;
  object.Required(kRuleNameKey, name);
  std::optional<AnyRule> made;
  ForEachNamedRule([&](auto rule) {
    if (name != rule.kName) return;
    VisitRuleOptions(rule, [&](const char* key, auto& field) {
      object.Try([&] { ReadRuleField(object, key, field); });
    });
    object.Finish();
    made = rule;
  });
  if (!made) ThrowUnknownRule(name, where);
  CheckRuleAt(*made, where);
  return *made;
}

}  // namespace

AnyRule RuleFromJson(const Json& value, const std::string& where, JsonProblems* problems) {
  const std::string name = NameIn(value);
  if (const RulePlugin* plugin = FindRulePlugin(name))
    return ReadPluginRule(*plugin, value, where, problems);
  if (!name.empty() && value.contains(kRulePluginKey) && !IsOfLibrary(name))
    return ReadAbsentRule(name, value, where);
  if (IsOfNobody(name)) ThrowUnknownRule(name, where);
  return ReadKinds(value, problems, RuleKinds(),
                   [&](const Json& rule, JsonProblems* of) { return ReadRule(rule, where, of); });
}

Json RuleToJson(const AnyRule& rule) {
  if (const AbsentRule* absent = AbsentRuleIn(rule)) return Json::parse(absent->json());
  Json json = {{kRuleNameKey, RuleName(rule)}};
  if (const PluginRule* of_plugin = PluginRuleIn(rule)) {
    PluginRule copy = *of_plugin;
    copy.VisitOptions([&](const char* key, auto& option) { json[key] = FieldToJson(option); });
    json["lr"] = FieldToJson(LearningRate(rule));
    json[kRulePluginKey] = PluginJson(*of_plugin, rule);
  }
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
