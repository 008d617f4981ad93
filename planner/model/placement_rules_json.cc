#include "planner/model/placement_rules_json.h"

#include "runtime/json/json_fields.h"

namespace tessera {
namespace internal {
namespace {

constexpr char kRulesKey[] = "tessera_placement_rules";
constexpr int64_t kRulesVersion = 1;

void ReadLists(JsonObject& object, const char* key, std::vector<std::vector<std::string>>& out) {
  if (const Json* lists = FindList(object, key))
    ForEachElement(*lists, object.at(key), [&](const Json& list, const std::string& where) {
      ReadJson(list, where, out.emplace_back());
    });
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
  CheckVersion(object, kRulesKey, kRulesVersion);
  PlacementRules rules;
  ReadLists(object, "together", rules.together);
  ReadLists(object, "apart", rules.apart);
  if (const Json* caps = FindList(object, "rank_caps"))
    ForEachElement(*caps, object.at("rank_caps"), [&](const Json& cap, const std::string& where) {
      rules.rank_caps.push_back(CapFrom(cap, where));
    });
  object.Finish();
  return rules;
}

}  // namespace
}  // namespace internal

PlacementRules PlacementRulesFromJson(const std::string& text, const std::string& where) {
  return internal::ReadDocument(text, where, internal::RulesFrom);
}

}  // namespace tessera
