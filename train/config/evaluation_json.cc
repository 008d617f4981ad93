#include "train/config/evaluation_json.h"

#include "runtime/base/size_limits.h"

namespace tessera::internal {
namespace {

void ReadInterval(JsonObject& object, EvaluationConfig& config) {
  const Json* const steps = object.Find("every_steps", TypeSchema(config.every_steps));
  object.Note("every_steps", Within(1, SizeLimits::kSteps));
  const Json* const fraction = object.Find("every", TypeSchema(config.every));
  object.Note("every", {{"exclusiveMinimum", 0}, {"exclusiveMaximum", 1}});
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
    object.Optional("metric", config.metric);
    object.Note("metric", {{"minLength", 1}});
    const Json* metric = object.Find("metric");
    if (metric != nullptr && config.metric.empty())
      ThrowExpected(object.at("metric"), "a metric's name", *metric);
  });
  object.Try([&] {
    const Json* target = object.Find("target", TypeSchema(0.0));
    if (target != nullptr) ReadJson(*target, object.at("target"), config.target.emplace());
  });
  object.Try([&] { object.OptionalCount("patience", config.patience, SizeLimits::kSteps); });
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
