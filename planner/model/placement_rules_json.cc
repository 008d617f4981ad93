#include "planner/model/placement_rules_json.h"

#include "runtime/json/json_fields.h"

namespace tessera {
namespace internal {
namespace {

constexpr char kVersionKey[] = "tessera_placement_rules";
constexpr int64_t kVersion = 1;

const Json& List(const Json& value, const std::string& where) {
  if (!value.is_array()) ThrowExpected(where, "a list", value);
  return value;
}

void ReadLists(JsonObject& object, const char* key, std::vector<std::vector<std::string>>& out) {
  const Json* lists = FindField(object, key);
  if (lists == nullptr) return;
  const std::string where = object.at(key);
  for (size_t i = 0; i < List(*lists, where).size(); ++i)
    ReadJson((*lists)[i], Format("{}[{}]", where, i), out.emplace_back());
}

RankCap CapFrom(const Json& value, const std::string& where) {
  JsonObject object(value, where);
  RankCap cap;
  object.Require("rank");
  ReadField(object, "rank", cap.rank);
  ReadField(object, "hbm", cap.hbm);
  ReadField(object, "ddr", cap.ddr);
  object.Finish();
  return cap;
}

PlacementRules RulesFrom(const Json& document) {
  JsonObject object(document, "");
  CheckVersion(object, kVersionKey, kVersion);
  PlacementRules rules;
  ReadLists(object, "together", rules.together);
  ReadLists(object, "apart", rules.apart);
  if (const Json* caps = FindField(object, "rank_caps"))
    for (size_t i = 0; i < List(*caps, object.at("rank_caps")).size(); ++i)
      rules.rank_caps.push_back(CapFrom((*caps)[i], Format("{}[{}]", object.at("rank_caps"), i)));
  object.Finish();
  return rules;
}

}  // namespace
}  // namespace internal

PlacementRules PlacementRulesFromJson(const std::string& text, const std::string& where) {
  return internal::ReadDocument(text, where, internal::RulesFrom);
}

}  // namespace tessera
