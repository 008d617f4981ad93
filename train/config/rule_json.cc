#include "train/config/rule_json.h"

#include <concepts>
#include <optional>

#include "train/config/number_json.h"

namespace tessera::internal {
namespace {

// Names and fields of each rule, once for reading and writing.
void VisitFields(Sgd& r, auto&& visit) { visit("lr", r.lr); }
void VisitFields(Adagrad& r, auto&& visit) {
  visit("lr", r.lr);
  visit("eps", r.eps);
}
void VisitFields(RowwiseAdagrad& r, auto&& visit) {
  visit("lr", r.lr);
  visit("eps", r.eps);
  visit("weight_decay", r.weight_decay);
  visit("weight_decay_mode", r.weight_decay_mode);
  visit("max_norm", r.max_norm);
}
void VisitFields(Adam& r, auto&& visit) {
  visit("lr", r.lr);
  visit("eps", r.eps);
  visit("beta1", r.beta1);
  visit("beta2", r.beta2);
  visit("weight_decay", r.weight_decay);
  visit("use_rowwise_bias_correction", r.use_rowwise_bias_correction);
}
void VisitFields(PartialRowwiseAdam& r, auto&& visit) {
  visit("lr", r.lr);
  visit("eps", r.eps);
  visit("beta1", r.beta1);
  visit("beta2", r.beta2);
  visit("weight_decay", r.weight_decay);
}

void VisitFields(Dense&, auto&&) {}

template <typename Rule>
concept Configurable = requires(Rule& rule) {
  VisitFields(rule, [](const char*, auto&) {});
};

void ReadField(JsonObject& object, const char* key, bool& field) { object.Optional(key, field); }

void ReadField(JsonObject& object, const char* key, std::floating_point auto& field) {
  const Json* value = object.Find(key);
  if (value == nullptr) return;
  double number = 0;
  ReadJson(*value, object.at(key), number);
  CheckNumberField(key, number, object.at(key));
  ReadJson(*value, object.at(key), field);
}

void ReadField(JsonObject& object, const char* key, WeightDecayMode& field) {
  object.OptionalWord(key, field,
                      {WeightDecayMode::kNone, WeightDecayMode::kL2, WeightDecayMode::kDecouple});
}

Json FieldToJson(bool field) { return field; }
Json FieldToJson(WeightDecayMode field) { return ToString(field); }
Json FieldToJson(float field) { return ShortestDouble(field); }
Json FieldToJson(double field) { return field; }

// Calls fn with a default-made rule of each kind that a configuration can name.
template <size_t I = 0>
void ForEachRule(auto&& fn) {
  if constexpr (I < std::variant_size_v<AnyRule>) {
    if constexpr (Configurable<std::variant_alternative_t<I, AnyRule>>)
      fn(std::variant_alternative_t<I, AnyRule>{});
    ForEachRule<I + 1>(fn);
  }
}

}  // namespace

AnyRule RuleFromJson(const Json& value, const std::string& where) {
  JsonObject object(value, where);
  std::string name, known;
  object.Required("name", name);
  std::optional<AnyRule> made;
  ForEachRule([&](auto rule) {
    known += (known.empty() ? "" : ", ") + std::string(rule.kName);
    if (name != rule.kName) return;
    VisitFields(rule, [&](const char* key, auto& field) { ReadField(object, key, field); });
    object.Finish();
    made = rule;
  });
  if (!made)
    throw Error(Format("{}: no optimizer of tables is called '{}'; there are {}", object.at("name"),
                       name, known));
  return *made;
}

Json RuleToJson(const AnyRule& rule) {
  Json json = {{"name", RuleName(rule)}};
  std::visit(
      [&]<typename Rule>(Rule copy) {
        if constexpr (Configurable<Rule>)
          VisitFields(copy, [&](const char* key, auto& field) { json[key] = FieldToJson(field); });
      },
      rule);
  return json;
}

}  // namespace tessera::internal
