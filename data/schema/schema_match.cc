#include "data/schema/schema_match.h"

#include <algorithm>

#include "data/schema/data_schema_json.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

using internal::Json;

constexpr size_t kMaxShown = 60;  // bytes of a value in an error

std::string ValueOf(const Json& entry, const std::string& key) {
  if (!entry.contains(key)) return "none";
  std::string text = entry.at(key).dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "…";
  return text;
}

// Throws if a key of either entry has another value in the other.
void CheckKeys(const Json& written, const Json& wanted, const std::string& where) {
  Json keys = written;
  keys.update(wanted);
  for (const auto& [key, unused] : keys.items()) {
    const bool same =
        written.contains(key) && wanted.contains(key) && written.at(key) == wanted.at(key);
    if (!same)
      throw Error(
          Format("{}: {}: expected {}, by which these rows were written, got {}; to change it, "
                 "preprocess the text again",
                 where, key, ValueOf(written, key), ValueOf(wanted, key)));
  }
}

template <typename Entry>
void CheckEntry(const std::vector<Entry>& written, const Entry& wanted, const char* kind,
                const std::string& where) {
  const auto found = std::find_if(written.begin(), written.end(),
                                  [&](const Entry& e) { return e.name == wanted.name; });
  const std::string entry = Format("{}: {} '{}'", where, kind, wanted.name);
  if (found != written.end())
    return CheckKeys(internal::EntryToJson(*found), internal::EntryToJson(wanted), entry);
  std::string known;
  for (const Entry& e : written) known += (known.empty() ? "" : ", ") + e.name;
  throw Error(Format("{}: these rows were written without it; they have {}", entry,
                     known.empty() ? "none" : known));
}

}  // namespace

void CheckSchemaMatches(const DataSchema& written, const DataSchema& wanted,
                        const std::vector<std::string>& features, const std::string& where) {
  for (const DenseEntry& entry : wanted.dense) CheckEntry(written.dense, entry, "dense", where);
  for (const std::string& name : features)
    CheckEntry(written.features, wanted.Feature(name), "feature", where);
  for (const LabelEntry& entry : wanted.labels) CheckEntry(written.labels, entry, "label", where);
  const auto columns = [](const DataSchema& schema, const DataSchema& asked) {
    Json json = Json::object();
    if (!schema.null.empty()) json["null"] = internal::TextsToJson(schema.null);
    if (!schema.weight.empty() && !asked.weight.empty()) json["weight"] = schema.weight;
    if (!schema.time.empty() && !asked.time.empty()) json["time"] = schema.time;
    return json;
  };
  CheckKeys(columns(written, wanted), columns(wanted, wanted), where);
}

}  // namespace tessera
