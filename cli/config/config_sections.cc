#include "cli/config/config_sections.h"

#include <algorithm>
#include <utility>

namespace tessera::cli {
namespace {

using internal::Json;

bool Has(const Json& list, const std::string& key) {
  return std::ranges::any_of(list, [&](const Json& item) { return item == key; });
}

// Whether a key of an object may be left out.
std::string NeedOf(const Json& object, const std::string& key) {
  if (Has(object.value("required", Json::array()), key)) return "required";
  for (const Json& part : object.value("allOf", Json::array())) {
    if (!part.contains("anyOf") || !Has(part["anyOf"][0]["required"], key)) continue;
    const auto other = part["anyOf"][1]["properties"].begin();
    return "required unless " + other.key() + " is " + other.value()["const"].dump();
  }
  return "";
}

// Gathers the rows of a section, one for each key that kinds have alike.
class Rows {
 public:
  void Add(const Json& object, const std::string& kind) {
    for (const auto& [key, schema] : object["properties"].items()) {
      if (schema.contains("const")) continue;
      const std::string need = NeedOf(object, key);
      const auto alike = std::ranges::find_if(rows_, [&, &key = key, &schema = schema](auto& row) {
        return row.key == key && row.need == need && row.schema == schema;
      });
      if (alike == rows_.end())
        rows_.push_back({key, schema, need, {kind}});
      else
        alike->kinds.push_back(kind);
    }
  }
  // Rows that all kinds have say no kind.
  std::vector<ConfigRow> Take(size_t kinds) {
    for (ConfigRow& row : rows_)
      if (row.kinds.size() == kinds || row.kinds.front().empty()) row.kinds.clear();
    return std::move(rows_);
  }

 private:
  std::vector<ConfigRow> rows_;
};

ConfigSection SectionOf(const Json& object, const std::string& path) {
  ConfigSection section = {.path = path, .meaning = {}, .kinds = {}, .rows = {}};
  Rows rows;
  if (object.contains("propertyNames")) {
    for (const auto& [name, part] : object["properties"].items()) {
      section.kinds.push_back(name);
      rows.Add(part, name);
    }
  } else {
    rows.Add(object, "");
    for (const Json& part : object.value("allOf", Json::array())) {
      if (!part.contains("then")) continue;
      const Json& word = part["then"]["properties"].begin().value();
      section.kinds.push_back(word["const"].get<std::string>());
      rows.Add(part["then"], section.kinds.back());
    }
  }
  section.rows = rows.Take(section.kinds.size());
  return section;
}

void AddSections(const Json& object, const std::string& path, const std::string& meaning,
                 std::vector<ConfigSection>& sections) {
  ConfigSection section = SectionOf(object, path);
  section.meaning = meaning;
  const std::vector<ConfigRow> rows = section.rows;
  sections.push_back(std::move(section));
  for (const ConfigRow& row : rows) {
    const bool is_list = row.schema.contains("items");
    const Json& part = is_list ? row.schema["items"] : row.schema;
    const std::string inner = (path.empty() ? "" : path + ".") + row.key + (is_list ? "[]" : "");
    const bool is_there =
        std::ranges::any_of(sections, [&](const auto& other) { return other.path == inner; });
    if (part.contains("properties") && !is_there)
      AddSections(part, inner, row.schema["description"].get<std::string>(), sections);
  }
}

}  // namespace

std::vector<ConfigSection> ConfigSections(const Json& schema) {
  std::vector<ConfigSection> sections;
  AddSections(schema, "", "", sections);
  return sections;
}

}  // namespace tessera::cli
