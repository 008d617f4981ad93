#include "train/config/split_json.h"

#include <algorithm>

#include "runtime/json/json_kinds.h"
#include "train/config/data_json.h"

namespace tessera::internal {
namespace {

constexpr char kFraction[] = "fraction", kOfFraction[] = "of_fraction";

void CheckFraction(JsonObject& object, const char* key, double fraction) {
  object.Note(key, {{"exclusiveMinimum", 0}, {"exclusiveMaximum", 1}});
  if (!(fraction > 0 && fraction < 1))
    ThrowExpected(object.at(key), "a fraction above 0 and below 1", Json(fraction));
}

void ReadFraction(JsonObject& object, double& fraction) {
  object.Try([&] {
    object.Optional(kFraction, fraction);
    CheckFraction(object, kFraction, fraction);
  });
}

// Reads the key that a training adds to the time that it found.
void ReadOfFraction(JsonObject& object, SplitOptions& split) {
  object.Try([&] {
    const Json* const fraction = object.Find(kOfFraction, TypeSchema(double{}));
    double found = SplitOptions().fraction;
    if (fraction != nullptr) ReadJson(*fraction, object.at(kOfFraction), found);
    CheckFraction(object, kOfFraction, found);
    if (fraction != nullptr) split.fraction = found;
    split.at_was_found = fraction != nullptr;
    if (split.at_was_found && !object.Has("at"))
      throw Error(Format("{} without {}: expected both", object.at(kOfFraction), object.at("at")));
  });
}

void ReadAt(JsonObject& object, SplitOptions& split) {
  object.Try([&] {
    const Json* const at = object.Find("at", TypeSchema(int64_t{}));
    if (at == nullptr) return;
    if (object.Has(kFraction))
      throw Error(
          Format("{} beside {}: expected one of the two", object.at(kFraction), object.at("at")));
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
  if (split.by == SplitBy::kTime) {
    ReadAt(object, split);
    ReadOfFraction(object, split);
  }
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
  if (split.at_was_found) json[kOfFraction] = split.fraction;
  if (split.by == SplitBy::kTime && split.at)
    json["at"] = *split.at;
  else
    json[kFraction] = split.fraction;
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
