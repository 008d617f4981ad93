#ifndef TESSERA_RUNTIME_JSON_JSON_OBJECT_H_
#define TESSERA_RUNTIME_JSON_JSON_OBJECT_H_
// Reads a JSON object strictly: every key is asked for by name and type, and Finish refuses what
// nobody asked for. Errors say where: "tables[2].dim: expected an integer above 0, got -4".
//
// A JsonProblems keeps the errors of a document, so that one reading reports all of them. A reader
// that is given one asks for each key inside Try; without one, the first error is thrown.
//
// A JsonProblems with a schema makes a reader say what it takes, in place of reading: each object
// that it asks adds its keys to the schema (json_schema.h). The reader is given empty objects, and
// runs as ever. So the reference of a document's keys is written by what reads them.
//
// For .cc files and private headers: public ones include no JSON.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/json/json_schema.h"

namespace tessera::internal {

// The document in `text`. Throws Error with line and column for text that is no JSON, and for a key
// given twice.
Json ParseJson(const std::string& text);

// "expected …, got …", after the place.
[[noreturn]] void ThrowExpected(const std::string& where, std::string_view expected,
                                const Json& got);

// "expected …, got …" for a value that is none of these words, with the word that it is near to.
[[noreturn]] void ThrowExpectedWord(const std::string& where, const std::vector<std::string>& words,
                                    const Json& got);

// `value` as a T (bool, int64_t, double, float, std::string, or a vector of them). Throws Error
// with `where` otherwise.
template <typename T>
void ReadJson(const Json& value, const std::string& where, T& out);

class JsonProblems {
 public:
  JsonProblems() = default;
  // Readers describe what they take in `schema`, which outlives this.
  explicit JsonProblems(Json* schema) : schema_(schema) {}

  Json* schema() const { return schema_; }
  void Add(std::string problem) { problems_.push_back(std::move(problem)); }
  void Add(const JsonProblems& others);
  // Goes on with the sentence of the last one. REQUIRES: there is one.
  void AddToLast(std::string_view text) { problems_.back() += text; }
  int64_t size() const { return static_cast<int64_t>(problems_.size()); }
  // Whether there is a problem of the key with this path, or of a key inside it.
  bool In(std::string_view path) const;
  // Throws Error, which begins with `source`, with a line for each problem, unless there is none.
  void ThrowIfAny(const std::string& source) const;

 private:
  std::vector<std::string> problems_;
  Json* schema_ = nullptr;
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

enum class JsonNeed { kOptional, kRequired };

class JsonObject {
 public:
  // `where` is the path of the object, "" for the document. `value` and `problems` must outlive
  // this.
  JsonObject(const Json& value, std::string where, JsonProblems* problems = nullptr);

  // The path of a key, for messages.
  std::string at(std::string_view key) const;
  // The value of a key, null if absent. Makes the key known.
  const Json* Find(std::string_view key);
  // Finds a key whose value the caller reads; `schema` says what it takes.
  const Json* Find(std::string_view key, const Json& schema);
  // Whether the key is there, which stays unknown if nothing else asks for it.
  bool Has(std::string_view key) const;
  const Json& Require(std::string_view key);

  template <typename T>
  void Required(std::string_view key, T& out) {
    if (describes()) Describe(key, TypeSchema(out), JsonNeed::kRequired);
    if (describes() && !Has(key)) return;
    ReadJson(Require(key), at(key), out);
  }
  // Leaves `out`, the default, as it is if the key is absent.
  template <typename T>
  void Optional(std::string_view key, T& out) {
    if (describes()) Describe(key, SchemaOf(out));
    if (const Json* value = Find(key)) ReadJson(*value, at(key), out);
  }
  // An integer of 1, or of 0, to `most`.
  void OptionalPositive(std::string_view key, int64_t& out, int64_t most);
  void OptionalCount(std::string_view key, int64_t& out, int64_t most);
  // Reads one of a few words, each standing for the value whose ToString it is.
  template <typename T>
  void OptionalWord(std::string_view key, T& out, std::initializer_list<T> values) {
    std::vector<std::string> words;
    for (const T value : values) words.push_back(ToString(value));
    const Json* word = Find(key, WordSchema(words, ToString(out)));
    if (word == nullptr) return;
    const auto found = std::ranges::find_if(words, [&](const auto& w) { return *word == w; });
    if (found == words.end()) ThrowExpectedWord(at(key), words, *word);
    out = *(values.begin() + (found - words.begin()));
  }
  // Reads a part, which is an object of its own, by read(value, where, problems). Returns whether
  // it is absent or good as far as `read` itself threw nothing.
  template <typename Read>
  bool Part(std::string_view key, JsonNeed need, Read&& read) {
    return Try([&] {
      if (describes()) return Describe(key, SchemaOfPart(key, read), need);
      const Json* value = need == JsonNeed::kRequired ? &Require(key) : Find(key);
      if (value != nullptr) read(*value, at(key), problems_);
    });
  }
  // Reads each element of a list of `least` parts or more, which `expected` names, likewise.
  template <typename Read>
  bool Parts(std::string_view key, JsonNeed need, size_t least, const char* expected, Read&& read) {
    return Try([&] {
      if (describes()) return Describe(key, ListSchema(SchemaOfPart(key, read), least), need);
      const Json* list = need == JsonNeed::kRequired ? &Require(key) : Find(key);
      if (list == nullptr) return;
      if (!list->is_array() || list->size() < least) ThrowExpected(at(key), expected, *list);
      for (size_t i = 0; i < list->size(); ++i)
        Try([&] { read((*list)[i], Format("{}[{}]", at(key), i), problems_); });
    });
  }
  // Reads an object whose keys are names, the known ones of which are `names`, by
  // read(name, value, where, problems).
  template <typename Read>
  void NamedParts(std::string_view key, const std::vector<std::string>& names, Read&& read) {
    if (describes()) {
      Json schema = NamedSchema(names);
      for (const std::string& name : names)
        schema["properties"][name] =
            SchemaOfPart(name, [&](const auto&... part) { read(name, part...); });
      return Describe(key, schema);
    }
    const Json* parts = Find(key);
    if (parts == nullptr) return;
    if (!parts->is_object()) ThrowExpected(at(key), "an object {name: {…}, …}", *parts);
    for (const auto& [name, value] : parts->items())
      Try([&, &name = name, &value = value] {
        read(name, value, at(key) + "." + name, problems_);
      });
  }
  // Refuses a key, which is known, but not to be given here.
  void Refuse(std::string_view key, std::string_view reason);

  // ---- what a reader says of itself beside reading; without a schema these do nothing

  // Whether this says what it takes.
  bool describes() const { return schema_ != nullptr; }
  // Adds keywords of JSON Schema to what was said of a key: the bounds that the caller checks.
  void Note(std::string_view key, const Json& keywords);
  // The key is needed, though the caller asked for it as one that is not.
  void Need(std::string_view key);
  // The key may be left out where another one has this value.
  void NeededUnless(std::string_view key, std::string_view other, const Json& value);
  // The caller takes a value of this type in the place of the object, too.
  void AlsoTakes(std::string_view type);

  // Calls fn, which reads and checks one key, or a few that belong together.
  template <typename Fn>
  bool Try(Fn&& fn) {
    return internal::Try(problems_, fn);
  }
  JsonProblems* problems() const { return problems_; }
  // Refuses unknown keys: names each, the key that it is near to, and the known ones.
  void Finish() const;

 private:
  void Describe(std::string_view key, const Json& schema, JsonNeed need = JsonNeed::kOptional);
  template <typename Read>
  Json SchemaOfPart(std::string_view key, const Read& read) {
    Json schema;
    JsonProblems problems(&schema);
    const Json empty = Json::object();
    internal::Try(&problems, [&] { read(empty, at(key), &problems); });
    return schema;
  }

  const Json& value_;
  std::string where_;
  std::vector<std::string> known_;
  JsonProblems* problems_;
  Json* schema_;  // of this object; null unless this describes
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_JSON_JSON_OBJECT_H_
