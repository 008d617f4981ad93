#include "train/config/data_json.h"

#include <iterator>
#include <utility>

#include "data/files/ratings.h"
#include "data/schema/data_schema_json.h"
#include "runtime/base/size_limits.h"
#include "runtime/json/json_kinds.h"
#include "train/config/split_json.h"

namespace tessera {
namespace {

constexpr const char* kFormats[] = {"criteo", "planted", "random", "movielens",
                                    "jsonl",  "csv",     "tsv",    "npz"};

}  // namespace

std::string ToString(DataFormat format) { return kFormats[static_cast<size_t>(format)]; }

std::vector<std::string> LabelNames(const DataConfig& data) {
  if (!data.schema || (data.schema->labels.empty() && !data.schema->is_text())) return {"label"};
  std::vector<std::string> names;
  for (const LabelEntry& label : data.schema->labels) names.push_back(label.name);
  return names;
}

std::string DefaultTaskName(const DataConfig& data) {
  if (!data.schema || data.schema->labels.empty()) return "click";
  return data.schema->labels.front().name;
}

void TakeFound(const DataConfig& saved, DataConfig& data) {
  TakeFoundTime(saved.split, data.split);
  if (data.prepared.empty()) data.prepared = saved.prepared;
}

bool MayHaveFound(const std::string& saved, const DataConfig& data) {
  const bool says = saved.find("\"prepared\"") != std::string::npos;
  return !saved.empty() && (says || SeeksTime(data.split));
}

namespace internal {
namespace {

void ReadRows(JsonObject& object, const char* key, int64_t& rows) {
  object.Try([&] { object.OptionalCount(key, rows, SizeLimits::kRows); });
}

void ReadMadeUpRows(JsonObject& object, DataConfig& data) {
  object.Try([&] {
    object.Required("rows", data.rows);
    object.Note("rows", Within(1, SizeLimits::kRows));
    CheckPositive(data.rows, SizeLimits::kRows, object.at("rows"));
  });
  ReadRows(object, "eval_rows", data.eval_rows);
}

void ReadPlanted(JsonObject& object, ClickModelOptions& planted) {
  ReadSeed(object, planted.seed);
  object.Try([&] { object.Optional("vocabulary", planted.vocabulary); });
  for (const auto& [key, number] : {std::pair{"zipf", &planted.zipf},
                                    {"click_rate", &planted.click_rate},
                                    {"missing_rate", &planted.missing_rate},
                                    {"strength", &planted.strength}})
    object.Try([&, key = key, number = number] { object.Optional(key, *number); });
}

void ReadRandom(JsonObject& object, RandomDataConfig& random) {
  ReadSeed(object, random.seed);
  object.Try([&] {
    object.Optional("ids_per_feature", random.ids_per_feature);
    Json ids = TypeSchema(int64_t{});
    ids.update(Within(1, SizeLimits::kIdsABag));
    object.Note("ids_per_feature", {{"items", ids}});
    for (size_t i = 0; i < random.ids_per_feature.size(); ++i)
      CheckPositive(random.ids_per_feature[i], SizeLimits::kIdsABag,
                    Format("{}[{}]", object.at("ids_per_feature"), i));
  });
  ReadRows(object, "distinct_rows", random.distinct_rows);
}

ShuffleOptions ShuffleFromJson(const Json& value, const std::string& where,
                               JsonProblems* problems) {
  JsonObject object(value, where, problems);
  ShuffleOptions shuffle;
  ReadSeed(object, shuffle.seed);
  for (const auto& [key, rows] :
       {std::pair{"window_rows", &shuffle.window_rows}, {"block_rows", &shuffle.block_rows}})
    object.Try(
        [&, key = key, rows = rows] { object.OptionalPositive(key, *rows, SizeLimits::kRows); });
  object.Finish();
  return shuffle;
}

Json PlantedToJson(const ClickModelOptions& planted) {
  return {{"seed", planted.seed},
          {"vocabulary", planted.vocabulary},
          {"zipf", planted.zipf},
          {"click_rate", planted.click_rate},
          {"missing_rate", planted.missing_rate},
          {"strength", planted.strength}};
}

Json RandomToJson(const RandomDataConfig& random) {
  return {{"seed", random.seed},
          {"ids_per_feature", random.ids_per_feature},
          {"distinct_rows", random.distinct_rows}};
}

constexpr std::pair<DataFormat, RowFormat> kSchemaFormats[] = {
    {DataFormat::kJsonl, RowFormat::kJsonl},
    {DataFormat::kCsv, RowFormat::kCsv},
    {DataFormat::kTsv, RowFormat::kTsv},
    {DataFormat::kNpz, RowFormat::kNpz}};

bool IsMadeUp(DataFormat format) {
  return format == DataFormat::kPlanted || format == DataFormat::kRandom;
}

void ReadSplit(JsonObject& object, DataConfig& data) {
  if (IsMadeUp(data.format)) {
    if (object.Has("split"))
      object.Refuse("split", "made-up rows have others for evaluation, of eval_rows");
    return;
  }
  object.Part("split", JsonNeed::kOptional,
              [&](const auto&... split) { data.split = SplitFromJson(split...); });
}

void ReadSchema(JsonObject& object, DataConfig& data) {
  for (const auto& [format, rows] : kSchemaFormats)
    if (format == data.format)
      data.schema = std::make_shared<const DataSchema>(DataSchemaFromJson(object, rows));
}

bool IsCriteo(DataFormat format) {
  return format == DataFormat::kCriteo || format == DataFormat::kPlanted;
}

DataConfig ReadData(const Json& value, const std::string& where, JsonProblems* problems) {
  JsonObject object(value, where, problems);
  DataConfig data;
  object.OptionalWord(
      "format", data.format,
      {DataFormat::kCriteo, DataFormat::kPlanted, DataFormat::kRandom, DataFormat::kMovieLens,
       DataFormat::kJsonl, DataFormat::kCsv, DataFormat::kTsv, DataFormat::kNpz});
  if (IsCriteo(data.format)) {
    object.Try([&] {
      object.OptionalWord("missing", data.missing, {MissingIds::kRow0, MissingIds::kEmptyBag});
    });
    object.Try([&] { object.Optional("prepared", data.prepared); });
  }
  object.Part("shuffle", JsonNeed::kOptional,
              [&](const auto&... shuffle) { data.shuffle = ShuffleFromJson(shuffle...); });
  object.Try([&] { ReadSplit(object, data); });
  if (IsMadeUp(data.format)) ReadMadeUpRows(object, data);
  if (data.format == DataFormat::kPlanted) ReadPlanted(object, data.planted);
  if (data.format == DataFormat::kRandom) ReadRandom(object, data.random);
  if (data.format == DataFormat::kMovieLens)
    object.Try([&] { object.Optional("like_from", data.like_from); });
  ReadSchema(object, data);
  object.Finish();
  return data;
}

}  // namespace

void ReadSeed(JsonObject& object, uint64_t& seed) {
  int64_t value = static_cast<int64_t>(seed);
  object.Try([&] {
    object.Optional("seed", value);
    object.Note("seed", AtLeast(0));
    if (value < 0)
      throw Error(
          Format("{}: expected a number that is not negative, got {}", object.at("seed"), value));
    seed = static_cast<uint64_t>(value);
  });
}

DataConfig DataFromJson(const Json& value, const std::string& where, JsonProblems* problems) {
  const JsonKinds formats = {
      "format", {std::begin(kFormats), std::end(kFormats)}, ToString(DataConfig{}.format)};
  return ReadKinds(value, problems, formats,
                   [&](const Json& data, JsonProblems* of) { return ReadData(data, where, of); });
}

Json DataToJson(const DataConfig& data) {
  Json json =
      data.schema ? DataSchemaToJson(*data.schema) : Json{{"format", ToString(data.format)}};
  if (IsCriteo(data.format)) json["missing"] = ToString(data.missing);
  if (IsCriteo(data.format) && !data.prepared.empty()) json["prepared"] = data.prepared;
  if (data.shuffle)
    json["shuffle"] = {{"seed", data.shuffle->seed},
                       {"window_rows", data.shuffle->window_rows},
                       {"block_rows", data.shuffle->block_rows}};
  if (data.split) json["split"] = SplitToJson(*data.split);
  if (IsMadeUp(data.format)) json.update({{"rows", data.rows}, {"eval_rows", data.eval_rows}});
  if (data.format == DataFormat::kPlanted) json.update(PlantedToJson(data.planted));
  if (data.format == DataFormat::kRandom) json.update(RandomToJson(data.random));
  if (data.format == DataFormat::kMovieLens) json["like_from"] = ShortestDouble(data.like_from);
  return json;
}

void CheckFeature(const DataConfig& data, const std::string& feature) {
  if (IsCriteo(data.format)) CategoryColumn(feature);
  if (data.format == DataFormat::kMovieLens) CheckRatingFeature(feature);
}

void CheckDenseIn(const DataConfig& data, int64_t dense_in) {
  const bool any = data.format == DataFormat::kRandom || data.format == DataFormat::kNpz;
  const bool criteo = IsCriteo(data.format);
  const int64_t expected = data.schema ? data.schema->dense_size()
                           : criteo    ? ClickRow::kIntegers
                                       : 1;
  if (any || dense_in == expected || dense_in == 0) return;  // 0: the model leaves them
  throw Error(Format("model.dense_in: expected {}, {}, got {}", expected,
                     data.schema ? "the numbers of data.dense"
                     : criteo    ? "the integers of a row"
                                 : "the number of a rating",
                     dense_in));
}

bool HasInputs(const DataConfig& data, const std::vector<std::string>& features, int64_t dense_in) {
  try {
    for (const std::string& feature : features) CheckFeature(data, feature);
    CheckDenseIn(data, dense_in);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace internal
}  // namespace tessera
