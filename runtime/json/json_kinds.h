#ifndef TESSERA_RUNTIME_JSON_JSON_KINDS_H_
#define TESSERA_RUNTIME_JSON_JSON_KINDS_H_
// Reads an object one key of which, a word, says which other keys there are: the type of a model,
// the name of an optimizer.
//
// A wrong word hides no other problem: the other keys are then read as those of the kind that fits
// them best. As a description (json_object.h) it says the keys of every kind.
#include <string>
#include <utility>
#include <vector>

#include "runtime/json/json_object.h"

namespace tessera::internal {

struct JsonKinds {
  std::string key;
  std::vector<std::string> words;
  std::string default_word = {};  // where the key may be left out; "": it may not
};

// Whether `value` says which kind it is, or there is nothing to choose one by.
bool KnowsKind(const Json& value, const JsonKinds& kinds);
// `value` as one of a kind.
Json OfKind(const Json& value, const JsonKinds& kinds, const std::string& word);
// The kind whose word is near to the one that is there; without one, that as which `value` has the
// fewest of the `problems` that were counted for each kind.
std::string BestKind(const Json& value, const JsonKinds& kinds,
                     const std::vector<int64_t>& problems);
// The schema of all kinds, from that of each.
Json KindsSchema(const JsonKinds& kinds, const std::vector<Json>& schemas);

// read(value, problems) reads an object of any kind, and throws for a word that is none.
template <typename Read>
auto ReadKinds(const Json& value, JsonProblems* problems, const JsonKinds& kinds, Read&& read)
    -> decltype(read(value, problems)) {
  using Result = decltype(read(value, problems));
  const auto try_kind = [&](const std::string& word, JsonProblems& of_kind) {
    const Json as = OfKind(value, kinds, word);
    Result result{};
    Try(&of_kind, [&] { result = read(as, &of_kind); });
    return result;
  };
  if (problems != nullptr && problems->schema() != nullptr) {
    std::vector<Json> schemas(kinds.words.size());
    Result result{};
    for (size_t i = 0; i < schemas.size(); ++i) {
      JsonProblems of_kind(&schemas[i]);
      result = try_kind(kinds.words[i], of_kind);
    }
    *problems->schema() = KindsSchema(kinds, schemas);
    return result;
  }
  if (problems == nullptr || KnowsKind(value, kinds)) return read(value, problems);
  Result result{};
  Try(problems, [&] { result = read(value, problems); });
  std::vector<int64_t> counts;
  for (const std::string& word : kinds.words) {
    JsonProblems of_kind;
    try_kind(word, of_kind);
    counts.push_back(of_kind.size());
  }
  const std::string best = BestKind(value, kinds, counts);
  JsonProblems of_best;
  result = try_kind(best, of_best);
  if (of_best.size() > 0)
    problems->AddToLast(Format("; its other keys are read as those of \"{}\"", best));
  problems->Add(of_best);
  return result;
}

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_JSON_JSON_KINDS_H_
