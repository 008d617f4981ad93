// The reference of configurations says what their readers take, no less and no more.
#include "train/config/config_reference.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "runtime/files/files.h"
#include "runtime/json/json_object.h"
#include "tests/train/config/good_config.h"
#include "tests/train/config/schema_check.h"
#include "tests/train/testing/files.h"
#include "train/config/train_config.h"

namespace tessera {
namespace {

using internal::Json;
using internal::ParseJson;
using testing::ErrorOf;
using testing::SchemaCheck;
using testing::With;

const Json& Schema() {
  static const Json schema = ParseJson(ConfigSchema());
  return schema;
}

bool SchemaTakes(const std::string& text) { return SchemaCheck(Schema()).Takes(ParseJson(text)); }

std::string ErrorIn(const Json& document) {
  return ErrorOf([&] { ParseTrainConfig(document.dump(), "x"); });
}

TEST(ConfigReference, TakesEveryExample) {
  int configs = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("examples")) {
    if (entry.path().extension() != ".json") continue;
    const std::string text = ReadTextFile(entry.path().string());
    EXPECT_TRUE(SchemaTakes(text)) << entry.path();
    EXPECT_TRUE(SchemaTakes(ToJson(ParseTrainConfig(text, "x")))) << entry.path();
    ++configs;
  }
  EXPECT_GE(configs, 15);
  EXPECT_TRUE(SchemaTakes(testing::kGood));
}

TEST(ConfigReference, RefusesWhatTheReaderRefuses) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"("type": "dlrm")", R"("type": "dcn")"},
      {R"("type": "dlrm", )", ""},
      {R"("type": "dlrm")", R"("type": "ple")"},
      {R"("dense_arch": [8, 4])", R"("dense_arch": [])"},
      {R"("dense_arch": [8, 4], )", ""},
      {R"("dense_arch": [8, 4])", R"("dense_arch": [8, 4], "hidden": 5)"},
      {R"("rows": 10)", R"("rows": 0)"},
      {R"("rows": 10, )", ""},
      {R"("rows": 10)", R"("rows": 10.5)"},
      {R"("rows": 10)", R"("row": 10)"},
      {R"("MEAN")", R"("MAX")"},
      {R"("beta1": 0.8)", R"("beta1": 1)"},
      {R"("name": "rowwise_adagrad")", R"("name": "adagrad")"},
      {R"("amsgrad": true)", R"("momentum": 0.5)"},
      {R"("policy": "linear")", R"("policy": "cosine")"},
      {R"("max_iters": 10, )", ""},
      {R"("norm_type": "inf")", R"("norm_type": "all")"},
      {R"("format": "criteo")", R"("format": "planted")"},
      {R"("format": "criteo")", R"("format": "csv")"},
      {R"("epochs": 3)", R"("epochs": "3")"},
      {R"("train": {)", R"("trian": {)"}};
  for (const auto& [from, to] : wrong) {
    const std::string text = With(from, to);
    EXPECT_FALSE(SchemaTakes(text)) << to;
    EXPECT_NE(ErrorIn(ParseJson(text)), "") << to;
  }
}

TEST(ConfigReference, DenseFeaturesAndLabelsMayBeLeftOutWhereTheReaderLetsThem) {
  Json config = ParseJson(testing::kGood);
  config["model"].erase("dense_arch");
  config["model"]["dense_in"] = 0;
  EXPECT_TRUE(SchemaTakes(config.dump()));
  EXPECT_EQ(ErrorIn(config), "");
  config["model"]["tasks"] = ParseJson(R"([{"loss": "bce"}])");
  EXPECT_FALSE(SchemaTakes(config.dump()));
  EXPECT_NE(ErrorIn(config), "");
}

TEST(ConfigReference, SchemaOfEditorsIsAKey) {
  const std::string text = With(R"({
  "tables")",
                                R"({"$schema": "./tessera.schema.json", "tables")");
  EXPECT_TRUE(SchemaTakes(text));
  EXPECT_EQ(ToJson(ParseTrainConfig(text, "x")), ToJson(ParseTrainConfig(testing::kGood, "x")));
  EXPECT_EQ(ErrorIn(ParseJson(With(R"("train": {)", R"("$schema": 5, "train": {)"))),
            "x: $schema: expected a string, got 5");
}

// ---- every key of the schema, given to the reader

Json Sample(const Json& schema);

Json SampleObject(const Json& schema) {
  Json object = Json::object();
  for (const auto& [key, value] : schema["properties"].items()) object[key] = Sample(value);
  return object;
}

// A value that the schema takes; an object has every key, of its first kind.
Json Sample(const Json& schema) {
  if (schema.contains("$ref"))
    return Sample(Schema().at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))));
  if (schema.contains("const")) return schema["const"];
  if (schema.contains("propertyNames") || schema.contains("additionalProperties"))
    return schema.contains("properties") ? SampleObject(schema) : Json::object();
  if (schema.contains("allOf")) return SampleObject(schema["allOf"][0]["then"]);
  if (schema.contains("default")) return schema["default"];
  if (schema.contains("enum")) return schema["enum"][0];
  const Json type = schema["type"].is_array() ? schema["type"][0] : schema["type"];
  if (type == "array") {
    Json list = Json::array();
    for (size_t i = 0; i < std::max<size_t>(1, schema.value("minItems", size_t{0})); ++i)
      list.push_back(Sample(schema["items"]));
    return list;
  }
  if (type == "string") return "x";
  return schema.contains("exclusiveMinimum") || type == "number" ? Json(0.5) : Json(1);
}

using Visit = std::function<void(const Json& document, const Json::json_pointer& at,
                                 const std::string& key, const Json& schema)>;

// Calls visit for each key of the objects inside `schema`, which stands at `at` in a document that
// has every other key of that object, too.
void VisitKeys(const Json& document, const Json::json_pointer& at, const Json& schema,
               const Visit& visit) {
  if (schema.contains("items")) {
    Json of_one = document;
    of_one[at] = Json::array({Sample(schema["items"])});
    return VisitKeys(of_one, at / 0, schema["items"], visit);
  }
  if (schema.contains("allOf") && schema["allOf"][0].contains("then")) {
    for (const Json& kind : schema["allOf"]) VisitKeys(document, at, kind["then"], visit);
    return;
  }
  if (!schema.contains("properties")) return;
  Json whole = document;
  whole[at] = SampleObject(schema);
  for (const auto& [key, value] : schema["properties"].items()) {
    if (value.contains("const")) continue;
    if (!schema.contains("propertyNames")) visit(whole, at, key, value);
    VisitKeys(whole, at / key, value, visit);
  }
}

void VisitAllKeys(const Visit& visit) {
  const Json good = ParseJson(testing::kGood);
  for (const auto& [key, value] : Schema()["properties"].items())
    VisitKeys(good, Json::json_pointer("/" + key), value, visit);
}

TEST(ConfigReference, TheReaderKnowsEveryKey) {
  int keys = 0;
  VisitAllKeys([&](const Json& document, const Json::json_pointer& at, const std::string& key,
                   const Json& schema) {
    ++keys;
    Json changed = document;
    changed[at][key] = Sample(schema);
    const std::string error = ErrorIn(changed);
    EXPECT_EQ(error.find("unknown key"), std::string::npos) << at << " " << error;
    EXPECT_EQ(error.find("the key is missing"), std::string::npos) << at << " " << error;
  });
  EXPECT_GT(keys, 500);
}

// Values that break one keyword of a key's schema each.
std::vector<Json> WrongValues(const Json& schema) {
  std::vector<Json> wrong;
  const SchemaCheck check(schema);
  for (const char* value :
       {R"({"surely": "wrong"})", "[[[1]]]", "5", "0", "-1", "2.5", "\"\"", "\"surely wrong\"",
        "true", "[]", "[0]", "[-3]", "1e300", "4611686018427387904", "1", "[1, 2, 3]"}) {
    const Json json = ParseJson(value);
    if (!check.Takes(json)) wrong.push_back(json);
  }
  return wrong;
}

TEST(ConfigReference, TheReaderRefusesWhatTheSchemaDoes) {
  int values = 0;
  VisitAllKeys([&](const Json& document, const Json::json_pointer& at, const std::string& key,
                   const Json& schema) {
    if (schema.contains("$ref")) return;
    for (const Json& wrong : WrongValues(schema)) {
      ++values;
      Json changed = document;
      changed[at][key] = wrong;
      const std::string error = ErrorIn(changed);
      EXPECT_NE(error.find(key), std::string::npos) << at << " " << key << " " << wrong << error;
    }
  });
  EXPECT_GT(values, 2000);
}

}  // namespace
}  // namespace tessera
