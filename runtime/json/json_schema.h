#ifndef TESSERA_RUNTIME_JSON_JSON_SCHEMA_H_
#define TESSERA_RUNTIME_JSON_JSON_SCHEMA_H_
// Pieces of JSON Schema (draft 2020-12): what a value of a document may be.
//
// For .cc files and private headers: public ones include no JSON.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tessera::internal {

using Json = nlohmann::ordered_json;

// The type of what ReadJson reads into `value`: a bool, int64_t, double, float, std::string, or a
// vector of them.
template <typename T>
Json TypeSchema(const T& value);
// TypeSchema with the value as the default, unless that is an empty text or list, or infinite.
template <typename T>
Json SchemaOf(const T& value);

Json WordSchema(const std::vector<std::string>& words, const std::string& default_word);
// "\"a\" or \"b\"".
std::string AnyOfWords(const std::vector<std::string>& words);

// A list of `least` elements or more; with `most` above 0, of that many at most.
Json ListSchema(const Json& element, size_t least, size_t most = 0);
// An object whose keys are among `names`, without its properties.
Json NamedSchema(const std::vector<std::string>& names);
// Keywords of the integers or numbers from `low` to `high`.
Json Within(int64_t low, int64_t high);
Json AtLeast(double low);
Json Above(double low);

// The shortest decimal number that reads back as `value`.
double ShortestDouble(float value);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_JSON_JSON_SCHEMA_H_
