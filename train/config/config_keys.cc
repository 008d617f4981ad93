#include "train/config/config_keys.h"

#include <map>
#include <utility>

#include "runtime/json/json_object.h"

namespace tessera {
namespace {

using internal::Json;

void AddKeys(const Json& json, const std::string& table, const std::string& prefix,
             std::vector<ConfigKey>& keys) {
  for (const auto& [name, value] : json.items()) {
    const std::string key = prefix.empty() ? name : prefix + "." + name;
    if (table.empty() && (key == "tables" || key == "optimizer.sparse")) continue;
    if (value.is_object())
      AddKeys(value, table, key, keys);
    else if (table.empty() || key != "name")
      keys.push_back({table, key, value.dump()});
  }
}

using Place = std::pair<std::string, std::string>;

Place PlaceOf(const ConfigKey& key) { return {key.table, key.key}; }

}  // namespace

std::string ToString(const ConfigKey& key) {
  return key.table.empty() ? key.key : Format("table '{}': {}", key.table, key.key);
}

std::vector<ConfigKey> KeysOf(const TrainConfig& config) {
  const Json document = internal::ParseJson(ToJson(config));
  Json names = Json::array();
  for (const EmbeddingBagConfig& table : config.tables) names.push_back(table.name);
  std::vector<ConfigKey> keys = {{"", "tables", names.dump()}};
  for (const Json& table : document.at("tables"))
    AddKeys(table, table.at("name").get<std::string>(), "", keys);
  AddKeys(document, "", "", keys);
  return keys;
}

std::vector<ConfigDifference> Differences(const std::vector<ConfigKey>& first,
                                          const std::vector<ConfigKey>& second) {
  std::map<Place, const ConfigKey*> others;
  for (const ConfigKey& key : second) others.emplace(PlaceOf(key), &key);
  std::vector<ConfigDifference> differences;
  for (const ConfigKey& key : first) {
    const auto other = others.find(PlaceOf(key));
    const ConfigKey theirs =
        other == others.end() ? ConfigKey{key.table, key.key, ""} : *other->second;
    if (theirs.value != key.value) differences.push_back({key, theirs});
    if (other != others.end()) others.erase(other);
  }
  for (const ConfigKey& key : second)
    if (others.contains(PlaceOf(key))) differences.push_back({{key.table, key.key, ""}, key});
  return differences;
}

}  // namespace tessera
