#include "data/describe/guess_columns.h"

#include <algorithm>
#include <set>

#include "data/describe/date_text.h"
#include "data/rows/column_cells.h"
#include "data/rows/number_text.h"
#include "runtime/base/check.h"
#include "runtime/json/json_object.h"
#include "runtime/json/utf8.h"

namespace tessera {
namespace {

// A separator between words is believed where this share of a column's texts has it.
constexpr double kFewTexts = 0.02;

bool EndsIn(std::string_view path, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

RowFormat FormatByName(std::string_view path) {
  for (const std::string_view packed : {".gz", ".zst"})
    if (path.ends_with(packed)) path.remove_suffix(packed.size());
  if (EndsIn(path, {".jsonl", ".ndjson", ".json"})) return RowFormat::kJsonl;
  if (EndsIn(path, {".csv"})) return RowFormat::kCsv;
  if (EndsIn(path, {".tsv", ".tab"})) return RowFormat::kTsv;
  throw Error(
      Format("{}: its name does not tell its format: expected .jsonl, .csv or .tsv (maybe with .gz "
             "or .zst behind it), or --format",
             path));
}

// The most frequent of the usual ones.
char GuessDelimiter(const std::string& line) {
  return *std::max_element(kUsualDelimiters.begin(), kUsualDelimiters.end(), [&](char a, char b) {
    return std::count(line.begin(), line.end(), a) < std::count(line.begin(), line.end(), b);
  });
}

bool IsNumber(std::string_view text) {
  double number = 0;
  return ParseNumber(text, number) == NumberFault::kNone;
}

bool IsId(std::string_view text) {
  WholeNumber number;
  uint64_t bits = 0;
  return ParseWhole(text, number) || ParseHex(text, bits);
}

// Keys of the lines whose values fit.
template <typename Fn>
std::vector<std::string> KeysOf(const std::vector<std::string>& lines, Fn&& fits) {
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const std::string& line : lines) {
    try {
      const internal::Json row = internal::ParseJson(line);
      if (!row.is_object()) continue;
      for (const auto& [key, value] : row.items())
        if (fits(value) && seen.insert(key).second) keys.push_back(key);
    } catch (const Error&) {
      // A bad line; the walk over all rows counts it.
    }
  }
  return keys;
}

void Erase(const std::vector<std::string>& keys, std::vector<std::string>& from) {
  std::erase_if(from, [&](const std::string& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  });
}

template <typename Fn>
void ForEachItem(std::string_view text, const std::string& separator, Fn&& fn) {
  for (size_t end; !separator.empty() && (end = text.find(separator)) != text.npos;) {
    fn(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  fn(text);
}

// Whether the separator parts texts, and all parts are ids where it may also stand inside a text.
bool Parts(const std::vector<std::string>& texts, const std::string& separator, bool between_ids) {
  int64_t with = 0;
  bool ids = true, decimals = true;
  for (const std::string& text : texts) {
    if (text.find(separator) == text.npos) continue;
    ++with;
    decimals = decimals && HasDecimalComma(text);
    if (between_ids)
      ForEachItem(text, separator, [&](std::string_view item) {
        ids = ids && IsId(item.substr(0, item.rfind(':')));
      });
  }
  const bool numbers = separator == "," && decimals;  // no text has two commas
  return ids && !numbers && with > 0 &&
         static_cast<double>(with) >= kFewTexts * static_cast<double>(texts.size());
}

// Whether the separator, which prose has, too, is between words that come in several orders or
// sets, as "new, sale" and "sale, xl": there are at least twice as many texts as words.
bool ComeAgainBehind(const std::vector<std::string>& texts, const std::string& separator) {
  std::set<std::string_view> different, words;
  bool any = false, prose = false;
  for (const std::string& text : texts) {
    different.insert(text);
    any = any || text.find(separator) != text.npos;
    prose = prose || HasDecimalComma(text) || (separator == "," && text.find(", ") != text.npos);
    ForEachItem(text, separator, [&](std::string_view word) { words.insert(word); });
  }
  return any && !prose && words.size() > 1 && different.size() >= 2 * words.size();
}

std::vector<std::string> NamesOf(const FirstLines& first, bool has_heading, DataSchema& files) {
  const std::string where = Format("{}:1", first.path);
  if (files.format == RowFormat::kJsonl) {
    std::vector<std::string> keys =
        KeysOf(first.lines, [](const internal::Json& value) { return !value.is_object(); });
    Erase(KeysOfObjects(first), keys);
    if (keys.empty()) throw Error(Format("{}: expected a JSON object a line", where));
    return keys;
  }
  if (!files.columns.empty()) return files.columns;
  const std::vector<std::string> cells = SplitLine(files, first.lines.front(), where);
  if (!has_heading && std::any_of(cells.begin(), cells.end(), IsNumber)) {
    for (size_t i = 0; i < cells.size(); ++i) files.columns.push_back(Format("column_{}", i + 1));
    return files.columns;
  }
  return HeadingColumns(files, first.lines.front(), where);
}

// Throws Error for bytes that the schema cannot have, as it is JSON.
void CheckUtf8(const DataSchema& files) {
  if (!internal::IsUtf8(std::string(1, files.delimiter)))
    throw Error("--delimiter: expected a character of ASCII, got a part of another one");
  for (const std::string& text : files.null)
    if (!internal::IsUtf8(text))
      throw Error("--null: expected UTF-8, as the schema is saved as JSON, got other bytes");
}

}  // namespace

DataSchema GuessFiles(const ProfileOptions& options, const std::string& first_line) {
  DataSchema files;
  if (options.schema != nullptr) {
    files.format = options.schema->format;
    files.delimiter = options.schema->delimiter;
    files.columns = options.schema->columns;
    files.null = options.schema->null;
    return files;
  }
  files.format = options.format ? *options.format : FormatByName(options.paths.front());
  if (!files.is_text()) throw Error("describe reads jsonl, csv and tsv; npz files have no columns");
  if (options.delimiter && files.format == RowFormat::kJsonl)
    throw Error("--delimiter: jsonl has none");
  if (!options.columns.empty() && files.format == RowFormat::kJsonl)
    throw Error("--columns: each line of jsonl names its own");
  files.delimiter = files.format == RowFormat::kTsv ? '\t' : ',';
  if (files.format == RowFormat::kCsv) files.delimiter = GuessDelimiter(first_line);
  files.delimiter = options.delimiter.value_or(files.delimiter);
  files.columns = options.columns;
  files.null = options.null;
  CheckUtf8(files);
  return files;
}

std::vector<std::string> GuessColumns(const FirstLines& first, bool has_heading,
                                      DataSchema& files) {
  std::vector<std::string> names = NamesOf(first, has_heading, files);
  for (const std::string& name : names)
    if (!internal::IsUtf8(name))
      throw Error(Format("{}:1: the name of a column is no UTF-8", first.path));
  return names;
}

std::vector<std::string> KeysOfObjects(const FirstLines& first) {
  auto keys = KeysOf(first.lines, [](const internal::Json& value) { return value.is_object(); });
  Erase(KeysOf(first.lines,
               [](const internal::Json& value) { return !value.is_object() && !value.is_null(); }),
        keys);
  return keys;
}

std::string GuessSeparator(const std::vector<std::string>& texts, char delimiter) {
  for (const char* separator : {"|", ";"})
    if (separator[0] != delimiter && Parts(texts, separator, /*between_ids=*/false))
      return separator;
  for (const char* separator : {", ", ",", " "})
    if (Parts(texts, separator, /*between_ids=*/true)) return separator;
  for (const char* separator : {", ", ","})
    if (ComeAgainBehind(texts, separator)) return separator;
  return "";
}

std::string GuessWeightMark(const std::vector<std::string>& texts, const std::string& separator) {
  if (separator.empty() && std::ranges::all_of(texts, internal::IsTimeOfDay)) return "";
  bool weighted = !texts.empty();
  for (const std::string& text : texts)
    ForEachItem(text, separator, [&](std::string_view item) {
      const size_t mark = item.rfind(':');
      weighted = weighted && mark != item.npos && mark > 0 && IsNumber(item.substr(mark + 1)) &&
                 !internal::BeginsWithDate(item);
    });
  return weighted ? ":" : "";
}

}  // namespace tessera
