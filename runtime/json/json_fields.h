#ifndef TESSERA_RUNTIME_JSON_JSON_FIELDS_H_
#define TESSERA_RUNTIME_JSON_JSON_FIELDS_H_
// Reads the parts that the library's JSON documents share: fields of which any may be null, which
// is the same as absent; words of a few; pairs; a version; errors that name the file.
//
// For .cc files and private headers: public ones include no JSON.
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "runtime/json/json_object.h"

namespace tessera::internal {

inline const Json* FindField(JsonObject& object, const char* key) {
  const Json* value = object.Find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

template <typename T>
void ReadField(JsonObject& object, const char* key, T& out) {
  if (const Json* value = FindField(object, key)) ReadJson(*value, object.at(key), out);
}

template <typename T>
void ReadField(JsonObject& object, const char* key, std::optional<T>& out) {
  if (const Json* value = FindField(object, key)) ReadJson(*value, object.at(key), out.emplace());
}

inline void ReadField(JsonObject& object, const char* key, int& out) {
  int64_t value = out;
  ReadField(object, key, value);
  if (value < 0 || value > std::numeric_limits<int>::max())
    throw Error(
        Format("{}: expected a number that is not negative, got {}", object.at(key), value));
  out = static_cast<int>(value);
}

// A word by its `parse`, whose error gets the place.
template <typename T>
T ParseField(const std::string& word, const std::string& where, T (*parse)(const std::string&)) {
  try {
    return parse(word);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
}

template <typename T>
void ReadWord(JsonObject& object, const char* key, T (*parse)(const std::string&), T& out) {
  std::optional<std::string> word;
  ReadField(object, key, word);
  if (word) out = ParseField(*word, object.at(key), parse);
}

template <typename T>
void ReadWord(JsonObject& object, const char* key, T (*parse)(const std::string&),
              std::optional<T>& out) {
  std::optional<std::string> word;
  ReadField(object, key, word);
  if (word) out = ParseField(*word, object.at(key), parse);
}

template <typename T>
void ReadWords(JsonObject& object, const char* key, T (*parse)(const std::string&),
               std::vector<T>& out) {
  std::vector<std::string> words;
  ReadField(object, key, words);
  for (size_t i = 0; i < words.size(); ++i)
    out.push_back(ParseField(words[i], Format("{}[{}]", object.at(key), i), parse));
}

// A list of two, which `expected` describes.
template <typename T>
std::array<T, 2> RequiredPair(JsonObject& object, const char* key, const char* expected) {
  std::vector<T> pair;
  object.Required(key, pair);
  if (pair.size() != 2) ThrowExpected(object.at(key), expected, *object.Find(key));
  return {pair[0], pair[1]};
}

// A word that must be there, by its `parse`.
template <typename T>
T RequiredWord(JsonObject& object, const char* key, T (*parse)(const std::string&)) {
  std::string word;
  object.Required(key, word);
  return ParseField(word, object.at(key), parse);
}

// The version under `key`, which must be `version`.
void CheckVersion(JsonObject& object, const char* key, int64_t version);

// `parse(document)`; errors begin with `where`, a file's name.
template <typename Fn>
auto ReadDocument(const std::string& text, const std::string& where, Fn&& parse) {
  try {
    return parse(ParseJson(text));
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
}

// A field a line, {} without fields.
std::string FieldALine(const Json& object);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_JSON_JSON_FIELDS_H_
