#include "train/config/config_reference.h"

#include <map>
#include <set>
#include <string_view>

#include "runtime/base/check.h"
#include "runtime/json/json_object.h"
#include "train/config/key_meanings.h"
#include "train/config/train_config.h"

namespace tessera {
namespace {

using internal::Json;

// Writes the meaning of each key into a schema.
class Describer {
 public:
  Describer() {
    for (const KeyMeaning& entry : KeyMeanings()) unused_.insert(entry.key);
    for (const KeyMeaning& entry : KeyMeanings()) meanings_.emplace(entry.key, entry.meaning);
  }

  // `kind`: the word that an object around this one is of, "" if none is.
  void Describe(Json& object, const std::string& path, const std::string& kind) {
    const bool named = object.contains("propertyNames");
    for (auto& [key, value] : object["properties"].items()) {
      if (value.is_object() && value.contains("const")) continue;  // the word of a kind
      const std::string inner = path.empty() ? key : path + "." + (named ? "*" : key);
      if (!value.is_object() || value.empty())
        throw Error(Format("{}: its reader does not say what it takes", inner));
      value["description"] = Meaning(inner, kind);
      if (HasKeys(value)) Describe(value, inner, kind);
      if (value.contains("items") && HasKeys(value["items"]))
        Describe(value["items"], inner + "[]", kind);
    }
    if (!object.contains("allOf")) return;
    for (Json& part : object["allOf"])
      if (part.contains("then")) Describe(part["then"], path, WordOf(part["then"]));
  }

  void ThrowIfUnused() const {
    if (!unused_.empty())
      throw Error(Format("{}: a meaning of a key that no reader knows", *unused_.begin()));
  }

 private:
  static bool HasKeys(const Json& schema) { return schema.contains("properties"); }
  static std::string WordOf(const Json& of_kind) {
    for (const auto& [key, value] : of_kind["properties"].items())
      if (value.is_object() && value.contains("const")) return value["const"].get<std::string>();
    return "";
  }
  std::string Meaning(const std::string& path, const std::string& kind) {
    for (const std::string& key : {path + "@" + kind, path}) {
      const auto found = meanings_.find(key);
      if (found == meanings_.end()) continue;
      unused_.erase(key);
      return std::string(found->second);
    }
    throw Error(Format("{}: it has no meaning in train/config/key_meanings{}.cc", path,
                       path.starts_with("metrics") ? "_metrics" : ""));
  }

  std::map<std::string, std::string_view> meanings_;
  std::set<std::string> unused_;
};

// A part that has the keys of another one refers to it.
void Refer(Json& schema, const char* key, const char* to) {
  Json& part = schema["properties"]["tables"]["items"]["properties"][key];
  if (part != schema.at(Json::json_pointer(to)))
    throw Error(Format("tables[].{}: its keys are not those of {}", key, to));
  part = {{"$ref", std::string("#") + to}};
}

// The sections in the order of their meanings.
Json InOrder(const Json& sections) {
  Json ordered = Json::object();
  for (const KeyMeaning& entry : KeyMeanings())
    if (sections.contains(entry.key)) ordered[entry.key] = sections[entry.key];
  return ordered;
}

}  // namespace

std::string ConfigSchema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "Configuration of tessera train"}};
  schema.update(internal::ParseJson(DescribeTrainConfig()));
  Refer(schema, "optimizer", "/properties/optimizer/properties/sparse");
  Refer(schema, "managed_collision", "/properties/managed_collision");
  Describer describer;
  describer.Describe(schema, "", "");
  describer.ThrowIfUnused();
  schema["properties"] = InOrder(schema["properties"]);
  return schema.dump(2);
}

}  // namespace tessera
