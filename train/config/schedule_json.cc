#include "train/config/schedule_json.h"

#include <cmath>
#include <limits>

#include "runtime/base/nearest.h"
#include "runtime/json/json_kinds.h"
#include "train/config/number_json.h"

namespace tessera::internal {
namespace {

constexpr char kInf[] = "inf";

// Names and fields of a stage, once for reading and writing: those that its policy looks at.
void VisitFields(auto& stage, auto&& visit) {
  using enum WarmupPolicy;
  const WarmupPolicy policy = stage.policy;
  visit("max_iters", stage.max_iters);
  if (policy != kNone && policy != kInvSqrt) visit("value", stage.value);
  if (policy == kPoly || policy == kStep) visit("decay_iters", stage.decay_iters);
  if (policy == kCosineAnnealingWarmRestarts) visit("sgdr_period", stage.sgdr_period);
  if (policy == kInterpolate) {
    visit("start_interpolating_iters", stage.start_interpolating_iters);
    visit("end_value", stage.end_value);
  }
  visit("lr_scale", stage.lr_scale);
}

void ReadPolicy(JsonObject& object, WarmupPolicy& policy) {
  const std::string where = object.at("policy");
  std::string name;
  std::vector<std::string> names;
  object.Required("policy", name);
  for (const WarmupPolicy p : AllWarmupPolicies()) {
    names.push_back(ToString(p));
    if (name != ToString(p)) continue;
    policy = p;
    return;
  }
  throw Error(Format("{}: {}", where, NoneIsCalled("policy", name, names)));
}

WarmupStage ReadStageOfPolicy(const Json& value, const std::string& where, JsonProblems* problems) {
  JsonObject object(value, where, problems);
  WarmupStage stage;
  ReadPolicy(object, stage.policy);
  VisitFields(stage, [&](const std::string& key, auto& field) {
    object.Try([&] {
      if (key == "max_iters")
        object.Required(key, field);
      else
        object.Optional(key, field);
      object.Note(key, NumberFieldBounds(key));
      if (!object.Has(key)) return;
      CheckNumberField(key, static_cast<double>(field), object.at(key));
    });
  });
  object.Finish();
  return stage;
}

WarmupStage ReadStage(const Json& value, const std::string& where, JsonProblems* problems) {
  JsonKinds kinds = {.key = "policy", .words = {}};
  for (const WarmupPolicy policy : AllWarmupPolicies()) kinds.words.push_back(ToString(policy));
  return ReadKinds(value, problems, kinds, [&](const Json& stage, JsonProblems* of) {
    return ReadStageOfPolicy(stage, where, of);
  });
}

void ReadNormType(JsonObject& object, double& norm_type) {
  const Json* value = object.Find("norm_type", {{"type", {"number", "string"}},
                                                {"exclusiveMinimum", 0},
                                                {"pattern", "^inf$"},
                                                {"default", norm_type}});
  if (value == nullptr) return;
  if (*value == kInf)
    norm_type = std::numeric_limits<double>::infinity();
  else if (value->is_number() && value->get<double>() > 0)
    norm_type = value->get<double>();
  else
    ThrowExpected(object.at("norm_type"), "a number above 0 or \"inf\"", *value);
}

}  // namespace

void ReadWarmup(JsonObject& optimizers, std::vector<WarmupStage>& stages) {
  const std::string where = optimizers.at("warmup");
  const bool good =
      optimizers.Parts("warmup", JsonNeed::kOptional, 0, "a list of stages",
                       [&](const Json& stage, const std::string& place, JsonProblems* problems) {
                         stages.push_back(ReadStage(stage, place, problems));
                       });
  if (!good || optimizers.describes() || optimizers.problems()->In(where)) return;
  try {
    WarmupSchedule(stages).CheckFactors();
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
}

Json WarmupToJson(const std::vector<WarmupStage>& stages) {
  Json list = Json::array();
  for (const WarmupStage& stage : stages) {
    Json json = {{"policy", ToString(stage.policy)}};
    VisitFields(stage, [&](const std::string& key, const auto& field) {
      if (key != "decay_iters" || field > 0) json[key] = field;
    });
    list.push_back(json);
  }
  return list;
}

GradientClippingOptions ClippingFromJson(const Json& value, const std::string& where,
                                         JsonProblems* problems) {
  JsonObject object(value, where, problems);
  GradientClippingOptions options;
  using Mode = GradientClipping;
  object.Try([&] {
    object.OptionalWord("mode", options.mode, {Mode::kNone, Mode::kNorm, Mode::kValue});
  });
  object.Try([&] {
    object.Optional("max_gradient", options.max_gradient);
    object.Note("max_gradient", Above(0));
    if (options.max_gradient <= 0)
      ThrowExpected(object.at("max_gradient"), "a number above 0", options.max_gradient);
  });
  object.Try([&] { ReadNormType(object, options.norm_type); });
  object.Finish();
  return options;
}

Json ClippingToJson(const GradientClippingOptions& options) {
  Json json = {{"mode", ToString(options.mode)}, {"max_gradient", options.max_gradient}};
  if (std::isinf(options.norm_type))
    json["norm_type"] = kInf;
  else
    json["norm_type"] = options.norm_type;
  return json;
}

}  // namespace tessera::internal
