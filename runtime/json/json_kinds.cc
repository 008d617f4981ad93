#include "runtime/json/json_kinds.h"

#include <algorithm>

#include "runtime/base/nearest.h"

namespace tessera::internal {

bool KnowsKind(const Json& value, const JsonKinds& kinds) {
  if (!value.is_object()) return true;
  const auto word = value.find(kinds.key);
  if (word == value.end()) return !kinds.default_word.empty() || value.empty();
  return value.size() == 1 ||
         std::ranges::any_of(kinds.words, [&](const auto& known) { return *word == known; });
}

Json OfKind(const Json& value, const JsonKinds& kinds, const std::string& word) {
  Json as = value;
  as[kinds.key] = word;
  return as;
}

std::string BestKind(const Json& value, const JsonKinds& kinds,
                     const std::vector<int64_t>& problems) {
  const auto word = value.find(kinds.key);
  const std::string given =
      word != value.end() && word->is_string() ? word->get<std::string>() : "";
  const std::string nearest = Nearest(given, kinds.words);
  const auto fewest = std::ranges::min_element(problems) - problems.begin();
  return nearest.empty() ? kinds.words[static_cast<size_t>(fewest)] : nearest;
}

Json KindsSchema(const JsonKinds& kinds, const std::vector<Json>& schemas) {
  const bool is_required = kinds.default_word.empty();
  Json word = {{"enum", kinds.words}};
  if (!is_required) word["default"] = kinds.default_word;
  Json all = {{"type", schemas.front().value("type", Json("object"))},
              {"properties", {{kinds.key, word}}}};
  if (is_required) all["required"] = {kinds.key};
  for (size_t i = 0; i < schemas.size(); ++i) {
    const Json is = {{"const", kinds.words[i]}};
    Json condition = {{"properties", {{kinds.key, is}}}};
    if (kinds.words[i] != kinds.default_word) condition["required"] = {kinds.key};
    Json then = schemas[i];
    then.erase("type");
    then["properties"][kinds.key] = is;
    if (const auto required = then.find("required"); required != then.end()) {
      required->erase(std::ranges::remove(*required, Json(kinds.key)).begin(), required->end());
      if (required->empty()) then.erase("required");
    }
    const Json of_kind = {{"if", condition}, {"then", then}};
    all["allOf"].push_back(of_kind);
  }
  return all;
}

}  // namespace tessera::internal
