#ifndef TESSERA_RUNTIME_JSON_JSON_OBJECT_H_
#define TESSERA_RUNTIME_JSON_JSON_OBJECT_H_
// Reads a JSON object strictly: every key is asked for by name and type, and Finish refuses what
// nobody asked for. Errors say where: "tables[2].dim: expected an integer above 0, got -4".
//
// A JsonProblems keeps the errors of a document, so that one reading reports all of them. A reader
// that is given one asks for each key inside Try; without one, the first error is thrown.
//
// For .cc files and private headers: public ones include no JSON.
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/check.h"

namespace tessera::internal {

using Json = nlohmann::ordered_json;

// The document in `text`. Throws Error with line and column for text that is no JSON, and for a key
// given twice.
Json ParseJson(const std::string& text);

// "expected …, got …", after the place.
[[noreturn]] void ThrowExpected(const std::string& where, std::string_view expected,
                                const Json& got);

// `value` as a T (bool, int64_t, double, float, std::string, or a vector of them). Throws Error
// with `where` otherwise.
template <typename T>
void ReadJson(const Json& value, const std::string& where, T& out);

class JsonProblems {
 public:
  void Add(std::string problem) { problems_.push_back(std::move(problem)); }
  int64_t size() const { return static_cast<int64_t>(problems_.size()); }
  // Whether there is a problem of the key with this path, or of a key inside it.
  bool In(std::string_view path) const;
  // Throws Error, which begins with `source`, with a line for each problem, unless there is none.
  void ThrowIfAny(const std::string& source) const;

 private:
  std::vector<std::string> problems_;
};

// Calls fn. With `problems`, an Error that it throws is added to them. Returns whether it threw
// none.
template <typename Fn>
bool Try(JsonProblems* problems, Fn&& fn) {
  if (problems == nullptr) {
    fn();
    return true;
  }
  try {
    fn();
    return true;
  } catch (const Error& error) {
    problems->Add(error.what());
    return false;
  }
}

class JsonObject {
 public:
  // `where` is the path of the object, "" for the document. `value` and `problems` must outlive
  // this.
  JsonObject(const Json& value, std::string where, JsonProblems* problems = nullptr);

  // The path of a key, for messages.
  std::string at(std::string_view key) const;
  // The value of a key, null if absent. Makes the key known.
  const Json* Find(std::string_view key);
  // Whether the key is there, which stays unknown if nothing else asks for it.
  bool Has(std::string_view key) const;
  const Json& Require(std::string_view key);

  template <typename T>
  void Required(std::string_view key, T& out) {
    ReadJson(Require(key), at(key), out);
  }
  // Leaves `out` as it is if the key is absent.
  template <typename T>
  void Optional(std::string_view key, T& out) {
    if (const Json* value = Find(key)) ReadJson(*value, at(key), out);
  }
  // Reads one of a few words, each standing for the value whose ToString it is.
  template <typename T>
  void OptionalWord(std::string_view key, T& out, std::initializer_list<T> values) {
    const Json* word = Find(key);
    if (word == nullptr) return;
    std::string expected;
    for (const T value : values) {
      if (*word == ToString(value)) {
        out = value;
        return;
      }
      expected += (expected.empty() ? "\"" : " or \"") + ToString(value) + "\"";
    }
    ThrowExpected(at(key), expected, *word);
  }
  // Calls fn, which reads and checks one key, or a few that belong together.
  template <typename Fn>
  bool Try(Fn&& fn) {
    return internal::Try(problems_, fn);
  }
  JsonProblems* problems() const { return problems_; }
  // Refuses unknown keys: names each, the key that it is near to, and the known ones.
  void Finish() const;

 private:
  const Json& value_;
  std::string where_;
  std::vector<std::string> known_;
  JsonProblems* problems_;
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_JSON_JSON_OBJECT_H_
