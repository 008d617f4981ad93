#include "cli/config/config_text.h"

#include <algorithm>
#include <set>
#include <vector>

#include "cli/config/config_sections.h"
#include "cli/wrapped_text.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/base/nearest.h"
#include "runtime/json/json_object.h"

namespace tessera::cli {
namespace {

using internal::Json;

std::string Joined(const std::vector<std::string>& words, const char* last) {
  return internal::Joined(words, ", ", last);
}

// "null" and such as words of a text.
std::string TypeName(const std::string& type) {
  if (type == "boolean") return "true or false";
  if (type == "array") return "list";
  return type;
}

std::string Shown(const Json& value) {
  return value.is_number_float() ? Format("{}", value.get<double>()) : value.dump();
}

// " from 1 to 256"; bounds that nobody meets by intent are left out.
std::string Bounds(const Json& schema) {
  if (schema.contains("anyOf"))  // a number apart from the others
    return Format("{}, or {}", Bounds(schema["anyOf"][0]), Shown(schema["anyOf"][1]["const"]));
  constexpr double kBeyond = 1e9;
  const auto number = [&](const char* key) { return Shown(schema[key]); };
  const bool most = schema.contains("maximum") && schema["maximum"].get<double>() <= kBeyond;
  if (schema.contains("minimum") && most)
    return Format(" from {} to {}", number("minimum"), number("maximum"));
  std::string text;
  if (schema.contains("minimum")) text = Format(" of at least {}", number("minimum"));
  if (schema.contains("exclusiveMinimum")) text = Format(" above {}", number("exclusiveMinimum"));
  if (schema.contains("exclusiveMaximum"))
    text += Format("{} below {}", text.empty() ? "" : " and", number("exclusiveMaximum"));
  return text;
}

std::string ListOf(const Json& schema);

std::string TypeText(const Json& schema) {
  if (schema.contains("enum"))
    return Joined(schema["enum"].get<std::vector<std::string>>(), " or ");
  if (schema.contains("$ref")) {
    std::string to = schema["$ref"].get<std::string>().substr(2);
    for (size_t at; (at = to.find("properties/")) != std::string::npos;) to.erase(at, 11);
    std::ranges::replace(to, '/', '.');
    return "object, as " + to;
  }
  const Json& type = schema["type"];
  if (type == "array") return ListOf(schema);
  if (type.is_string()) return TypeName(type.get<std::string>()) + Bounds(schema);
  std::vector<std::string> types;
  for (const Json& one : type)
    types.push_back(one == "array" ? ListOf(schema)
                                   : TypeName(one.get<std::string>()) +
                                         (one == "number" ? Bounds(schema) : ""));
  return Joined(types, " or ");
}

std::string ListOf(const Json& schema) {
  const Json& items = schema["items"];
  const int64_t least = schema.value("minItems", int64_t{0});
  const bool just = least > 1 && least == schema.value("maxItems", int64_t{0});
  std::string element = items.contains("properties") ? "object" : TypeText(items);
  element.insert(
      element.find_first_of(" ") == std::string::npos ? element.size() : element.find(' '), "s");
  return just ? Format("list of {} {}", least, element) : "list of " + element;
}

std::string NeedText(const ConfigRow& row) {
  if (!row.need.empty()) return row.need;
  if (row.schema.contains("default")) return "default " + Shown(row.schema["default"]);
  return "may be left out";
}

// "Of mmoe and ple.", "Of all but two_tower.".
std::string KindsText(const ConfigRow& row, const ConfigSection& section) {
  if (row.kinds.empty()) return "";
  std::vector<std::string> others;
  for (const std::string& kind : section.kinds)
    if (std::ranges::find(row.kinds, kind) == row.kinds.end()) others.push_back(kind);
  const bool by_others = others.size() < row.kinds.size() && others.size() <= 3;
  return by_others ? Format(" Of all but {}.", Joined(others, " and "))
                   : Format(" Of {}.", Joined(row.kinds, " and "));
}

// heading: the key, or "  or" for what the key above is in other kinds.
std::string RowText(const std::string& heading, const ConfigRow& row, const std::string& kinds) {
  return Format("  {}  ({}; {})\n      {}{}\n", heading, TypeText(row.schema), NeedText(row),
                row.schema["description"].get<std::string>(), kinds);
}

bool IsOf(const ConfigRow& row, const std::string& kind) {
  return kind.empty() || row.kinds.empty() || std::ranges::find(row.kinds, kind) != row.kinds.end();
}

// The rows of a kind, or of all. Kinds that have a key differently have rows of their own, which
// stand together.
std::vector<ConfigRow> RowsOf(const ConfigSection& section, const std::string& kind) {
  std::vector<ConfigRow> rows;
  for (const ConfigRow& row : section.rows) {
    if (!IsOf(row, kind)) continue;
    const auto alike = std::find_if(rows.rbegin(), rows.rend(),
                                    [&](const ConfigRow& other) { return other.key == row.key; });
    rows.insert(alike == rows.rend() ? rows.end() : alike.base(), row);
  }
  return rows;
}

bool Knows(const ConfigSection& section, const std::string& kind) {
  return std::ranges::find(section.kinds, kind) != section.kinds.end();
}

std::string SectionText(const ConfigSection& section, const std::string& kind) {
  std::string text = section.path.empty() ? "The document\n"
                                          : Format("{}\n    {}\n", section.path, section.meaning);
  std::string key;
  for (const ConfigRow& row : RowsOf(section, kind)) {
    text += RowText(row.key == key ? "  or" : row.key, row,
                    kind.empty() ? KindsText(row, section) : "");
    key = row.key;
  }
  return text;
}

// A path as users write it, without the places of lists.
std::string Plain(const std::string& path) {
  std::string plain;
  bool inside = false;
  for (const char c : path) {
    inside = (inside || c == '[') && c != ']';
    if (!inside && c != ']') plain += c;
  }
  return plain;
}

bool IsIn(const std::string& path, const std::string& part) {
  return part.empty() || path == part || path.starts_with(part + ".");
}

std::string PathOf(const ConfigSection& section, const ConfigRow& row) {
  const std::string at = Plain(section.path);
  return at.empty() ? row.key : at + "." + row.key;
}

// Whether the words of `part` are among those of a path, one after the other; words end at points,
// and, if asked, at underscores.
bool Names(std::string path, std::string part, bool at_underscores) {
  if (at_underscores)
    for (std::string* words : {&path, &part}) std::ranges::replace(*words, '_', '.');
  return ("." + path + ".").find("." + part + ".") != std::string::npos;
}

// The sections whose paths fit; of others the keys whose paths do, but for those that are sections.
template <typename Fits>
std::vector<ConfigSection> Fitting(const std::vector<ConfigSection>& all, const Fits& fits) {
  std::set<std::string> sections;
  for (const ConfigSection& section : all) sections.insert(Plain(section.path));
  std::vector<ConfigSection> found;
  for (ConfigSection section : all) {
    const bool whole = fits(Plain(section.path));
    if (!whole)
      std::erase_if(section.rows, [&](const ConfigRow& row) {
        const std::string path = PathOf(section, row);
        return !fits(path) || sections.contains(path);
      });
    if (whole || !section.rows.empty()) found.push_back(section);
  }
  return found;
}

// The key, or another path, that was meant; "" for none.
std::string Meant(const std::vector<ConfigSection>& all, const std::string& part) {
  std::vector<std::string> paths, keys;
  for (const ConfigSection& section : all)
    for (const ConfigRow& row : section.rows) {
      paths.push_back(PathOf(section, row));
      keys.push_back(row.key);
    }
  const std::string path = Nearest(part, paths);
  return path.empty() ? Nearest(part, keys) : path;
}

// The sections and keys at a path, or else those that have it as a part of theirs: of whole names
// first, then of words in names.
std::vector<ConfigSection> Part(const std::vector<ConfigSection>& all, const std::string& path) {
  const std::string part = Plain(path);
  auto found = Fitting(all, [&](const std::string& at) { return IsIn(at, part); });
  for (const bool at_underscores : {false, true})
    if (found.empty())
      found = Fitting(all, [&](const std::string& at) { return Names(at, part, at_underscores); });
  if (!found.empty()) return found;
  const std::string near = Meant(all, part);
  throw Error(Format(
      "a configuration has no key '{}'{}", path,
      near.empty() ? "; tessera config lists them all" : Format("; did you mean '{}'?", near)));
}

void CheckKind(const std::vector<ConfigSection>& sections, const std::string& path,
               const std::string& kind) {
  std::vector<std::string> known;
  for (const ConfigSection& section : sections)
    for (const std::string& word : section.kinds)
      if (std::ranges::find(known, word) == known.end()) known.push_back(word);
  if (kind.empty() || std::ranges::find(known, kind) != known.end()) return;
  const std::string of = path.empty() ? "a configuration" : path;
  if (known.empty()) throw Error(Format("--type {}: {} has the same keys for all types", kind, of));
  if (const std::string near = Nearest(kind, known); !near.empty())
    throw Error(Format("--type {}: {} has no such type; did you mean {}?", kind, of, near));
  throw Error(Format("--type {}: {} has the types {}", kind, of, Joined(known, " and ")));
}

}  // namespace

std::string ConfigText(const std::string& schema, const std::string& path,
                       const std::string& kind) {
  const std::vector<ConfigSection> sections =
      Part(ConfigSections(internal::ParseJson(schema)), path);
  CheckKind(sections, path, kind);
  std::string text;
  for (const ConfigSection& section : sections)
    if (kind.empty() || Knows(section, kind))
      text += (text.empty() ? "" : "\n") + SectionText(section, kind);
  return Wrapped(text);
}

}  // namespace tessera::cli
