#include "train/config/evaluation_json.h"

#include "runtime/base/size_limits.h"

namespace tessera::internal {
namespace {

void ReadInterval(JsonObject& object, EvaluationConfig& config) {
  const Json* const steps = object.Find("every_steps");
  const Json* const fraction = object.Find("every");
  if (steps != nullptr && fraction != nullptr)
    throw Error(Format("{} beside {}: expected one of the two", object.at("every"),
                       object.at("every_steps")));
  if (steps != nullptr) {
    ReadJson(*steps, object.at("every_steps"), config.every_steps);
    CheckPositive(config.every_steps, SizeLimits::kSteps, object.at("every_steps"));
  }
  if (fraction == nullptr) return;
  ReadJson(*fraction, object.at("every"), config.every);
  if (!(config.every > 0 && config.every < 1))
    ThrowExpected(object.at("every"), "a fraction of an epoch, above 0 and below 1", *fraction);
}

}  // namespace

EvaluationConfig EvaluationFromJson(const Json& value, const std::string& where,
                                    JsonProblems* problems) {
  JsonObject object(value, where, problems);
  EvaluationConfig config;
  object.Try([&] { ReadInterval(object, config); });
  object.Try([&] {
    const Json* metric = object.Find("metric");
    object.Optional("metric", config.metric);
    if (metric != nullptr && config.metric.empty())
      ThrowExpected(object.at("metric"), "a metric's name", *metric);
  });
  object.Try([&] {
    const Json* target = object.Find("target");
    if (target != nullptr) ReadJson(*target, object.at("target"), config.target.emplace());
  });
  object.Try([&] {
    object.Optional("patience", config.patience);
    CheckCount(config.patience, SizeLimits::kSteps, object.at("patience"));
  });
  object.Finish();
  return config;
}

Json EvaluationToJson(const EvaluationConfig& config) {
  Json json = Json::object();
  if (config.every_steps > 0) json["every_steps"] = config.every_steps;
  if (config.every > 0) json["every"] = config.every;
  if (!config.metric.empty()) json["metric"] = config.metric;
  if (config.target) json["target"] = *config.target;
  json["patience"] = config.patience;
  return json;
}

}  // namespace tessera::internal
