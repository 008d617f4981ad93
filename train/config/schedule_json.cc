#include "train/config/schedule_json.h"

#include <cmath>
#include <limits>

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
  std::string name, known;
  object.Required("policy", name);
  for (const WarmupPolicy p : AllWarmupPolicies()) {
    known += (known.empty() ? "" : ", ") + ToString(p);
    if (name != ToString(p)) continue;
    policy = p;
    return;
  }
  throw Error(Format("{}: no policy is called '{}'; there are {}", where, name, known));
}

WarmupStage ReadStage(const Json& value, const std::string& where, JsonProblems* problems) {
  JsonObject object(value, where, problems);
  WarmupStage stage;
  ReadPolicy(object, stage.policy);
  VisitFields(stage, [&](const std::string& key, auto& field) {
    object.Try([&] {
      const Json* given = key == "max_iters" ? &object.Require(key) : object.Find(key);
      if (given == nullptr) return;
      ReadJson(*given, object.at(key), field);
      CheckNumberField(key, static_cast<double>(field), object.at(key));
    });
  });
  object.Finish();
  return stage;
}

void ReadNormType(JsonObject& object, double& norm_type) {
  const Json* value = object.Find("norm_type");
  if (value == nullptr) return;
  if (*value == kInf)
    norm_type = std::numeric_limits<double>::infinity();
  else if (value->is_number() && value->get<double>() > 0)
    norm_type = value->get<double>();
  else
    ThrowExpected(object.at("norm_type"), "a number above 0 or \"inf\"", *value);
}

}  // namespace

std::vector<WarmupStage> WarmupFromJson(const Json& value, const std::string& where,
                                        JsonProblems* problems) {
  if (!value.is_array()) ThrowExpected(where, "a list of stages", value);
  std::vector<WarmupStage> stages;
  for (size_t i = 0; i < value.size(); ++i)
    Try(problems,
        [&] { stages.push_back(ReadStage(value[i], Format("{}[{}]", where, i), problems)); });
  if (problems != nullptr && problems->In(where)) return stages;
  try {
    WarmupSchedule{stages};
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
  return stages;
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
