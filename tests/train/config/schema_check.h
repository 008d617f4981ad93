#ifndef TESSERA_TESTS_TRAIN_CONFIG_SCHEMA_CHECK_H_
#define TESSERA_TESTS_TRAIN_CONFIG_SCHEMA_CHECK_H_
// Checks a document against a JSON Schema. It knows the keywords that the schema of configurations
// has, and throws Error for any other one.
#include <regex>
#include <set>
#include <string>

#include "runtime/base/check.h"
#include "runtime/json/json_object.h"

namespace tessera::testing {

using internal::Json;

class SchemaCheck {
 public:
  explicit SchemaCheck(const Json& schema) : root_(schema) {}

  bool Takes(const Json& value) const { return Takes(value, root_); }

 private:
  bool Takes(const Json& value, const Json& schema) const {
    if (schema.is_boolean()) return schema.get<bool>();
    for (const auto& [keyword, said] : schema.items())
      if (!TakesKeyword(value, schema, keyword, said)) return false;
    return true;
  }

  bool TakesKeyword(const Json& value, const Json& schema, const std::string& keyword,
                    const Json& said) const {
    static const std::set<std::string> kNotes = {"$schema", "title", "description", "default",
                                                 "then"};
    if (kNotes.contains(keyword)) return true;
    if (keyword == "$ref")
      return Takes(value, root_.at(Json::json_pointer(said.get<std::string>().substr(1))));
    if (keyword == "const") return value == said;
    if (keyword == "enum")
      return std::any_of(said.begin(), said.end(), [&](const Json& word) { return word == value; });
    if (keyword == "type") return IsOfType(value, said);
    if (keyword == "allOf")
      return std::all_of(said.begin(), said.end(), [&](const Json& s) { return Takes(value, s); });
    if (keyword == "anyOf")
      return std::any_of(said.begin(), said.end(), [&](const Json& s) { return Takes(value, s); });
    if (keyword == "if") return !Takes(value, said) || Takes(value, schema.at("then"));
    return TakesMore(value, schema, keyword, said);
  }

  bool TakesMore(const Json& value, const Json& schema, const std::string& keyword,
                 const Json& said) const {
    static const std::set<std::string> kNumbers = {"minimum", "maximum", "exclusiveMinimum",
                                                   "exclusiveMaximum"},
                                       kTexts = {"minLength", "pattern"},
                                       kLists = {"items", "minItems", "maxItems"};
    if (kNumbers.contains(keyword))
      return !value.is_number() || InBound(value.get<double>(), keyword, said.get<double>());
    if (kTexts.contains(keyword))
      return !value.is_string() || TakesText(value.get<std::string>(), keyword, said);
    if (kLists.contains(keyword)) return !value.is_array() || TakesList(value, keyword, said);
    return !value.is_object() || TakesObject(value, schema, keyword, said);
  }

  static bool IsOfType(const Json& value, const Json& type) {
    if (type.is_array())
      return std::any_of(type.begin(), type.end(),
                         [&](const Json& one) { return IsOfType(value, one); });
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "null") return value.is_null();
    throw Error("unknown type " + type.dump());
  }

  static bool InBound(double value, const std::string& keyword, double bound) {
    if (keyword == "minimum") return value >= bound;
    if (keyword == "maximum") return value <= bound;
    return keyword == "exclusiveMinimum" ? value > bound : value < bound;
  }

  static bool TakesText(const std::string& text, const std::string& keyword, const Json& said) {
    if (keyword == "minLength") return text.size() >= said.get<size_t>();
    return std::regex_search(text, std::regex(said.get<std::string>()));
  }

  bool TakesList(const Json& list, const std::string& keyword, const Json& said) const {
    if (keyword == "minItems") return list.size() >= said.get<size_t>();
    if (keyword == "maxItems") return list.size() <= said.get<size_t>();
    return std::all_of(list.begin(), list.end(),
                       [&](const Json& item) { return Takes(item, said); });
  }

  bool TakesObject(const Json& object, const Json& schema, const std::string& keyword,
                   const Json& said) const {
    if (keyword == "required")
      return std::all_of(said.begin(), said.end(),
                         [&](const Json& key) { return object.contains(key.get<std::string>()); });
    for (const auto& [key, value] : object.items()) {
      const bool known = schema.contains("properties") && schema["properties"].contains(key);
      if (keyword == "properties") {
        if (known && !Takes(value, said[key])) return false;
      } else if (keyword == "propertyNames") {
        if (!Takes(Json(key), said)) return false;
      } else if (keyword == "additionalProperties") {
        if (!known && !Takes(value, said)) return false;
      } else {
        throw Error("unknown keyword " + keyword);
      }
    }
    return true;
  }

  const Json& root_;
};

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TRAIN_CONFIG_SCHEMA_CHECK_H_
