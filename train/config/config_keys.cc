#include "train/config/config_keys.h"

#include <algorithm>
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

// An entry that is a name alone, as the object that it stands for beside another one.
Json AsEntry(const Json& item, const Json& other) {
  return item.is_string() && other.is_object() ? Json{{"name", item}} : item;
}

// Finds where two values of a key differ.
class ValueDifferences {
 public:
  explicit ValueDifferences(std::string table) : table_(std::move(table)) {}

  void Add(const std::string& key, const Json& first, const Json& second) {
    if (first == second) return;
    const Json a = AsEntry(first, second), b = AsEntry(second, first);
    if (a.is_array() && b.is_array()) return AddLists(key, a, b);
    if (a.is_object() && b.is_object()) return AddObjects(key, a, b);
    Put(key, a.dump(), b.dump());
  }
  std::vector<ConfigDifference> found;

 private:
  void Put(const std::string& key, std::string first, std::string second) {
    found.push_back({{table_, key, std::move(first)}, {table_, key, std::move(second)}});
  }
  void AddObjects(const std::string& key, const Json& a, const Json& b) {
    for (const auto& [name, value] : a.items())
      if (const std::string inner = key + "." + name; b.contains(name))
        Add(inner, value, b.at(name));
      else
        Put(inner, value.dump(), "");
    for (const auto& [name, value] : b.items())
      if (!a.contains(name)) Put(key + "." + name, "", value.dump());
  }
  void AddLists(const std::string& key, const Json& a, const Json& b) {
    const size_t shorter = std::min(a.size(), b.size());
    size_t begin = 0, end = 0;  // items that both begin and end with
    while (begin < shorter && a[begin] == b[begin]) ++begin;
    while (end < shorter - begin && a[a.size() - 1 - end] == b[b.size() - 1 - end]) ++end;
    if (a.size() == b.size()) {
      for (size_t i = begin; i + end < a.size(); ++i) Add(Format("{}[{}]", key, i), a[i], b[i]);
      return;
    }
    Put(Format("{}[{}:{}]", key, begin, a.size() - end), Between(a, begin, end),
        Between(b, begin, end));
  }
  static std::string Between(const Json& list, size_t begin, size_t end) {
    Json items = Json::array();
    for (size_t i = begin; i + end < list.size(); ++i) items.push_back(list[i]);
    return items.empty() ? "" : items.dump();
  }

  std::string table_;
};

// A difference for each item of two lists; the difference itself for other values.
std::vector<ConfigDifference> ByItem(const ConfigDifference& difference) {
  const std::string &first = difference.first.value, &second = difference.second.value;
  if (!first.starts_with('[') || !second.starts_with('[')) return {difference};
  ValueDifferences differences(difference.first.table);
  differences.Add(difference.first.key, internal::ParseJson(first), internal::ParseJson(second));
  return std::move(differences.found);
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
  for (Json table : document.at("tables")) {
    if (!table.contains("optimizer")) table["optimizer"] = document.at("optimizer").at("sparse");
    AddKeys(table, table.at("name").get<std::string>(), "", keys);
  }
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
    if (theirs.value != key.value)
      for (ConfigDifference& item : ByItem({key, theirs})) differences.push_back(std::move(item));
    if (other != others.end()) others.erase(other);
  }
  for (const ConfigKey& key : second)
    if (others.contains(PlaceOf(key))) differences.push_back({{key.table, key.key, ""}, key});
  return differences;
}

}  // namespace tessera
