#include "runtime/json/json_schema.h"

#include <charconv>
#include <cmath>
#include <iterator>

namespace tessera::internal {
namespace {

Json TypeOf(bool) { return {{"type", "boolean"}}; }
Json TypeOf(int64_t) { return {{"type", "integer"}}; }
Json TypeOf(double) { return {{"type", "number"}}; }
Json TypeOf(const std::string&) { return {{"type", "string"}}; }
template <typename T>
Json TypeOf(const std::vector<T>&) {
  return ListSchema(TypeOf(T()), 0);
}

Json DefaultOf(bool value) { return value; }
Json DefaultOf(int64_t value) { return value; }
Json DefaultOf(double value) { return std::isfinite(value) ? Json(value) : Json(); }
Json DefaultOf(float value) { return DefaultOf(ShortestDouble(value)); }
Json DefaultOf(const std::string& value) { return value.empty() ? Json() : Json(value); }
template <typename T>
Json DefaultOf(const std::vector<T>& value) {
  return value.empty() ? Json() : Json(value);
}

}  // namespace

template <typename T>
Json TypeSchema(const T& value) {
  return TypeOf(value);
}

template <typename T>
Json SchemaOf(const T& value) {
  Json schema = TypeOf(value);
  if (Json given = DefaultOf(value); !given.is_null()) schema["default"] = std::move(given);
  return schema;
}

#define TESSERA_SCHEMA_OF(...)                        \
  template Json TypeSchema(const __VA_ARGS__& value); \
  template Json SchemaOf(const __VA_ARGS__& value)
TESSERA_SCHEMA_OF(bool);
TESSERA_SCHEMA_OF(int64_t);
TESSERA_SCHEMA_OF(double);
TESSERA_SCHEMA_OF(float);
TESSERA_SCHEMA_OF(std::string);
TESSERA_SCHEMA_OF(std::vector<int64_t>);
TESSERA_SCHEMA_OF(std::vector<float>);
TESSERA_SCHEMA_OF(std::vector<double>);
TESSERA_SCHEMA_OF(std::vector<std::string>);
#undef TESSERA_SCHEMA_OF

Json WordSchema(const std::vector<std::string>& words, const std::string& default_word) {
  return {{"enum", words}, {"default", default_word}};
}

std::string AnyOfWords(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "\"" : " or \"") + word + "\"";
  return text;
}

Json ListSchema(const Json& element, size_t least, size_t most) {
  Json schema = {{"type", "array"}, {"items", element}};
  if (least > 0) schema["minItems"] = least;
  if (most > 0) schema["maxItems"] = most;
  return schema;
}

Json NamedSchema(const std::vector<std::string>& names) {
  return {{"type", "object"}, {"propertyNames", {{"enum", names}}}, {"properties", Json::object()}};
}

Json Within(int64_t low, int64_t high) { return {{"minimum", low}, {"maximum", high}}; }
Json AtLeast(double low) { return {{"minimum", low}}; }
Json Above(double low) { return {{"exclusiveMinimum", low}}; }

double ShortestDouble(float value) {
  char text[64];
  const auto written = std::to_chars(text, std::end(text), value);
  double shortest = 0;
  std::from_chars(text, written.ptr, shortest);
  return shortest;
}

}  // namespace tessera::internal
