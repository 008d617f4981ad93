#ifndef TESSERA_RUNTIME_JSON_JSON_OBJECT_H_
#define TESSERA_RUNTIME_JSON_JSON_OBJECT_H_
// Reads a JSON object strictly: every key is asked for by name and type, and Finish refuses what
// nobody asked for. Errors say where: "tables[2].dim: expected an integer above 0, got -4".
//
// For .cc files and private headers: public ones include no JSON.
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
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

class JsonObject {
 public:
  // `where` is the path of the object, "" for the document. Both must outlive this.
  JsonObject(const Json& value, std::string where);

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
  // Throws Error naming the first unknown key and listing the known ones.
  void Finish() const;

 private:
  const Json& value_;
  std::string where_;
  std::vector<std::string> known_;
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_JSON_JSON_OBJECT_H_
