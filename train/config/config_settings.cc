#include "train/config/config_settings.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/json/json_fields.h"

namespace tessera {
namespace {

using internal::Json;

std::string Quoted(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// The value that a setting gives. What looks like JSON is not taken for a word.
Json ValueOf(const std::string& text) {
  try {
    return internal::ParseJson(text);
  } catch (const Error&) {
    if (text.starts_with('{') || text.starts_with('[') || text.starts_with('"')) throw;
    return text;
  }
}

// Where the bracket at `open` closes; npos where it does not. Inside, a value in quotes may have
// any letter: [name="a]b"].
size_t CloseOf(std::string_view text, size_t open) {
  bool quoted = false;
  for (size_t i = open + 1; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
      continue;
    }
    if (text[i] == '"' && (quoted || text[i - 1] == '=')) quoted = !quoted;
    if (text[i] == ']' && !quoted) return i;
  }
  return std::string_view::npos;
}

// The value of a selector: a string of JSON, or else the text.
std::string SelectedValue(const std::string& text) {
  return text.starts_with('"') ? Quoted(internal::ParseJson(text)) : text;
}

// The element of a list by "3", by "name=t_user", or by "name=\"a]b\"".
Json& ElementOf(Json& list, std::string_view place, std::string_view selector) {
  if (!list.is_array())
    throw Error(Format("expected a list under {}, got {}", place, list.type_name()));
  if (const size_t equals = selector.find('='); equals != std::string_view::npos) {
    const std::string key(selector.substr(0, equals)),
        value = SelectedValue(std::string(selector.substr(equals + 1)));
    for (Json& element : list)
      if (element.is_object() && element.contains(key) && Quoted(element.at(key)) == value)
        return element;
    throw Error(Format("{} has no element whose {} is '{}'", place, key, value));
  }
  size_t index = 0;
  const auto [end, error] =
      std::from_chars(selector.data(), selector.data() + selector.size(), index);
  if (error != std::errc() || end != selector.data() + selector.size())
    throw Error(Format("expected [NUMBER] or [KEY=VALUE] after {}, got [{}]", place, selector));
  if (index >= list.size())
    throw Error(Format("{} has {} elements, so expected a number below that, got {}", place,
                       list.size(), index));
  return list[index];
}

// The member of an object, made if it is not there.
Json& MemberOf(Json& object, std::string_view place, std::string_view key) {
  if (key.empty()) throw Error("expected a path of keys, as optimizer.sparse.lr");
  if (object.is_null()) object = Json::object();
  if (!object.is_object())
    throw Error(Format("expected an object under {}, got {}", place, object.type_name()));
  return object[std::string(key)];
}

// The place in the document that a path names.
Json& Find(Json& document, std::string_view path) {
  Json* at = &document;
  size_t begin = 0;
  while (true) {
    const size_t end = std::min(path.find_first_of(".[", begin), path.size());
    at =
        &MemberOf(*at, path.substr(0, begin == 0 ? 0 : begin - 1), path.substr(begin, end - begin));
    size_t next = end;
    while (next < path.size() && path[next] == '[') {
      const size_t close = CloseOf(path, next);
      if (close == std::string_view::npos)
        throw Error(Format("expected ']' after {}", path.substr(0, next + 1)));
      at = &ElementOf(*at, path.substr(0, next), path.substr(next + 1, close - next - 1));
      next = close + 1;
    }
    if (next == path.size()) return *at;
    if (path[next] != '.') throw Error(Format("expected '.' after {}", path.substr(0, next)));
    begin = next + 1;
  }
}

// The first '=' outside of brackets.
size_t EqualsOf(std::string_view setting) {
  for (size_t i = 0; i < setting.size(); ++i) {
    if (setting[i] == '=') return i;
    if (setting[i] == '[') i = std::min(CloseOf(setting, i), setting.size() - 1);
  }
  throw Error("expected PATH=VALUE, as optimizer.sparse.lr=0.01");
}

// A value of the document for all tables that have no key of their own for it.
struct SharedKey {
  Json::json_pointer place;
  std::string of_table;  // the table's own key
  std::string path;
};

Json ValueIn(const Json& document, const SharedKey& shared) {
  return document.contains(shared.place) ? document.at(shared.place) : Json();
}

// A table's own value that is the shared one, `before`, follows it; null is none. Throws Error
// where no table has it.
void LetTablesFollow(Json& document, const SharedKey& shared, const Json& before) {
  const auto tables = document.find("tables");
  if (tables == document.end() || !tables->is_array() || tables->empty()) return;
  const Json after = ValueIn(document, shared);
  bool is_used = false;
  for (Json& table : *tables) {
    const bool has_own = table.is_object() && table.contains(shared.of_table);
    if (has_own && (before.is_null() || table.at(shared.of_table) != before)) continue;
    if (has_own) table[shared.of_table] = after;
    is_used = true;
  }
  if (!is_used)
    throw Error(
        Format("each table has {0} {1} of its own, so that none uses {2}: set tables[0].{1}, "
               "tables[1].{1}, … in its place",
               shared.of_table == "optimizer" ? "an" : "a", shared.of_table, shared.path));
}

const char kRawIds[] = "managed_collision";

// The raw ids that some tables have of their own, where the document has none for all, as that of a
// checkpoint; nullopt where none have. Throws Error where they are not alike.
std::optional<Json> OwnRawIds(const Json& document) {
  const auto tables = document.find("tables");
  if (document.contains(kRawIds) || tables == document.end() || !tables->is_array()) return {};
  std::optional<Json> common;
  for (const Json& table : *tables) {
    if (!table.is_object() || !table.contains(kRawIds) || table.at(kRawIds).is_null()) continue;
    if (common && *common != table.at(kRawIds))
      throw Error(
          Format("tables differ in their {0}, of which there is none for all: set "
                 "tables[0].{0}, tables[1].{0}, … in its place",
                 std::string_view(kRawIds)));
    common = table.at(kRawIds);
  }
  return common;
}

constexpr std::string_view kName = ".name";

// Whether a path ends with an optimizer's name.
bool NamesOptimizer(std::string_view path) {
  return path.ends_with("optimizer.name") || path == "optimizer.sparse.name" ||
         path == "optimizer.dense.name";
}

// Another optimizer has other options: of those that there are only the rate stays.
void KeepRateAlone(Json& optimizer, const Json& name) {
  if (!optimizer.is_object() || !optimizer.contains("name") || optimizer.at("name") == name) return;
  Json left = Json::object();
  if (optimizer.contains("lr")) left["lr"] = optimizer.at("lr");
  optimizer = std::move(left);
}

void SetValue(Json& document, const std::string& path, Json value) {
  static const SharedKey kShared[] = {
      {Json::json_pointer("/optimizer/sparse"), "optimizer", "optimizer.sparse"},
      {Json::json_pointer("/managed_collision"), kRawIds, kRawIds}};
  const Json before = document;
  if (NamesOptimizer(path))
    KeepRateAlone(Find(document, path.substr(0, path.size() - kName.size())), value);
  Find(document, path) = std::move(value);
  for (const SharedKey& shared : kShared)
    if (const Json old = ValueIn(before, shared); ValueIn(document, shared) != old)
      LetTablesFollow(document, shared, old);
}

void Set(Json& document, const std::string& setting) {
  try {
    const auto [path, text] = SplitSetting(setting);
    Json value = ValueOf(text);
    const bool of_raw_ids = path.substr(0, path.find_first_of(".[")) == kRawIds;
    const std::optional<Json> own = of_raw_ids ? OwnRawIds(document) : std::nullopt;
    if (own) document[kRawIds] = *own;  // tables that have none do not get it
    SetValue(document, path, std::move(value));
    if (own) document.erase(kRawIds);
  } catch (const Error& error) {
    throw Error(Format("--set {}: {}", setting, error.what()));
  }
}

}  // namespace

ConfigSetting SplitSetting(const std::string& setting) {
  const size_t equals = EqualsOf(setting);
  return {setting.substr(0, equals), setting.substr(equals + 1)};
}

std::string WithSettings(const std::string& text, const std::string& source,
                         std::span<const std::string> settings) {
  if (settings.empty()) return text;
  Json document = internal::ReadDocument(text, source, [](Json json) { return json; });
  std::vector<std::string> names_first(settings.begin(), settings.end());
  std::ranges::stable_partition(names_first, [](const std::string& setting) {
    const size_t name = setting.find(".name=");
    return name != std::string::npos && NamesOptimizer(setting.substr(0, name + kName.size()));
  });
  for (const std::string& setting : names_first) Set(document, setting);
  return document.dump();
}

}  // namespace tessera
