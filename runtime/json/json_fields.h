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
#include <string_view>
#include <vector>

#include "runtime/json/json_object.h"

namespace tessera::internal {

inline const Json* FindField(JsonObject& object, const char* key) {
  const Json* value = object.Find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

// `value`, which must be a list, or what else `expected` says of one. Throws Error with `where`
// otherwise.
inline const Json& RequireList(const Json& value, const std::string& where,
                               std::string_view expected = "a list") {
  if (!value.is_array()) ThrowExpected(where, expected, value);
  return value;
}
// The list under a key that must be there.
inline const Json& RequireList(JsonObject& object, const char* key) {
  return RequireList(object.Require(key), object.at(key));
}
// The list under a key; null where there is none.
inline const Json* FindList(JsonObject& object, const char* key) {
  const Json* value = FindField(object, key);
  return value == nullptr ? nullptr : &RequireList(*value, object.at(key));
}

// fn(element, place) for the elements of a list at `where`.
template <typename Fn>
void ForEachElement(const Json& list, const std::string& where, Fn&& fn) {
  for (size_t i = 0; i < RequireList(list, where).size(); ++i)
    fn(list[i], Format("{}[{}]", where, i));
}
// fn(element, place) for the elements of the list under a key that must be there.
template <typename Fn>
void ForEachElement(JsonObject& object, const char* key, Fn&& fn) {
  ForEachElement(object.Require(key), object.at(key), fn);
}

template <typename T>
void ReadField(JsonObject& object, const char* key, T& out) {
  if (const Json* value = FindField(object, key)) ReadJson(*value, object.at(key), out);
}

template <typename T>
void ReadField(JsonObject& object, const char* key, std::optional<T>& out) {
  if (const Json* value = FindField(object, key)) ReadJson(*value, object.at(key), out.emplace());
}

// A count or a rank, which is no negative number and an int. Throws Error for another one.
inline int CountOf(int64_t value, const std::string& where) {
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  if (value < 0 || value > kMost)
    throw Error(Format("{}: expected an integer from 0 to {}, got {}", where, kMost, value));
  return static_cast<int>(value);
}

inline void ReadField(JsonObject& object, const char* key, int& out) {
  int64_t value = out;
  ReadField(object, key, value);
  out = CountOf(value, object.at(key));
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
