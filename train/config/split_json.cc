#include "train/config/split_json.h"

#include <algorithm>

#include "runtime/json/json_kinds.h"
#include "train/config/data_json.h"

namespace tessera::internal {
namespace {

void ReadFraction(JsonObject& object, double& fraction) {
  object.Try([&] {
    object.Optional("fraction", fraction);
    object.Note("fraction", {{"exclusiveMinimum", 0}, {"exclusiveMaximum", 1}});
    if (!(fraction > 0 && fraction < 1))
      ThrowExpected(object.at("fraction"), "a fraction above 0 and below 1", Json(fraction));
  });
}

void ReadAt(JsonObject& object, SplitOptions& split) {
  object.Try([&] {
    const Json* const at = object.Find("at", TypeSchema(int64_t{}));
    if (at == nullptr) return;
    if (object.Has("fraction"))
      throw Error(
          Format("{} beside {}: expected one of the two", object.at("fraction"), object.at("at")));
    ReadJson(*at, object.at("at"), split.at.emplace());
  });
}

SplitOptions ReadSplit(const Json& value, const std::string& where, JsonProblems* problems) {
  JsonObject object(value, where, problems);
  SplitOptions split;
  object.OptionalWord("by", split.by, {SplitBy::kRandom, SplitBy::kKey, SplitBy::kTime});
  ReadFraction(object, split.fraction);
  if (split.by != SplitBy::kTime) ReadSeed(object, split.seed);
  if (split.by == SplitBy::kKey) object.Try([&] { object.Required("feature", split.feature); });
  if (split.by == SplitBy::kTime) ReadAt(object, split);
  object.Finish();
  return split;
}

}  // namespace

SplitOptions SplitFromJson(const Json& value, const std::string& where, JsonProblems* problems) {
  const JsonKinds kinds = {"by", {"random", "key", "time"}, "random"};
  return ReadKinds(value, problems, kinds, [&](const Json& split, JsonProblems* of) {
    return ReadSplit(split, where, of);
  });
}

Json SplitToJson(const SplitOptions& split) {
  Json json = {{"by", ToString(split.by)}};
  if (split.by == SplitBy::kTime && split.at)
    json["at"] = *split.at;
  else
    json["fraction"] = split.fraction;
  if (split.by != SplitBy::kTime) json["seed"] = split.seed;
  if (split.by == SplitBy::kKey) json["feature"] = split.feature;
  return json;
}

void CheckSplit(const DataConfig& data, const std::vector<CategoricalFeature>& features) {
  if (!data.split) return;
  if (data.split->by == SplitBy::kKey &&
      std::ranges::find(features, data.split->feature, &CategoricalFeature::name) == features.end())
    throw Error(Format("data.split.feature: no table reads the feature '{}'", data.split->feature));
  const bool has_time =
      data.schema ? !data.schema->time.empty() : data.format == DataFormat::kMovieLens;
  if (data.split->by == SplitBy::kTime && !has_time)
    throw Error(
        Format("data.split.by: time: rows of the format {} have no time{}", ToString(data.format),
               data.schema && data.schema->is_text() ? ": expected its column in data.time" : ""));
}

}  // namespace tessera::internal
