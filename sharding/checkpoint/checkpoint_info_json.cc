#include "sharding/checkpoint/checkpoint_info_json.h"

#include "sharding/plan/plan_json_impl.h"

namespace tessera::internal {
namespace {

Json TableJson(const CheckpointTable& table) {
  return {{"rows", table.shape.rows}, {"dim", table.shape.dim}, {"parameter", table.parameter},
          {"rule", table.rule},       {"iter", table.iter},     {"max_counter", table.max_counter}};
}

CheckpointTable ParseTable(const std::string& name, const Json& value, const std::string& where) {
  JsonObject object(value, where);
  CheckpointTable table;
  table.shape.name = name;
  object.Required("rows", table.shape.rows);
  object.Required("dim", table.shape.dim);
  object.Required("parameter", table.parameter);
  object.Required("rule", table.rule);
  object.Required("iter", table.iter);
  object.Required("max_counter", table.max_counter);
  object.Finish();
  return table;
}

}  // namespace

std::map<std::string, std::string> StringsAt(JsonObject& object, const char* key) {
  std::map<std::string, std::string> strings;
  ForEachMember(object, key, [&](const std::string& name, const Json& value, const auto& where) {
    ReadJson(value, where, strings[name]);
  });
  return strings;
}

DType DTypeAt(JsonObject& object) { return RequiredWord(object, "dtype", ParseDType); }

void AddInfo(const CheckpointInfo& info, Json& json) {
  json["plan"] = PlanJson(info.plan);
  json["tables"] = Json::object();
  for (const CheckpointTable& table : info.tables)
    json["tables"][table.shape.name] = TableJson(table);
  json["metadata"] = info.metadata;
}

void ReadInfo(JsonObject& object, CheckpointInfo& info) {
  info.plan = PlanOf(object.Require("plan"), "plan");
  ForEachMember(object, "tables", [&](const auto& name, const Json& value, const auto& place) {
    info.tables.push_back(ParseTable(name, value, place));
  });
  info.metadata = StringsAt(object, "metadata");
}

Json TypesJson(const StoredTable& table) {
  Json states = Json::array();
  for (const StoredState& s : table.states)
    states.push_back({{"name", s.name}, {"dtype", ToString(s.dtype)}, {"per_row", s.per_row}});
  return {{"dtype", ToString(table.dtype)}, {"states", states}};
}

void ReadTypes(JsonObject& object, StoredTable& table) {
  table.dtype = DTypeAt(object);
  ForEachElement(object, "states", [&](const Json& element, const std::string& place) {
    JsonObject state(element, place);
    StoredState& stored = table.states.emplace_back();
    state.Required("name", stored.name);
    state.Required("per_row", stored.per_row);
    stored.dtype = DTypeAt(state);
    state.Finish();
  });
}

}  // namespace tessera::internal
