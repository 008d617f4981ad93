// A line as the cells of jsonl, csv and tsv, beside slow and plain readers: another parser of JSON,
// and a walk over characters.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/rows/bad_line.h"
#include "data/rows/column_cells.h"
#include "data/rows/json_cells.h"
#include "tests/fuzz/fuzz.h"

namespace tessera::fuzz {
namespace {

using nlohmann::json;

const std::vector<std::string>& Keys() {
  static const std::vector<std::string> keys = {"a", "b\"", "c\xc3\xa9"};
  return keys;
}

// A line, and bytes behind it that no reader may take for its own.
struct PaddedLine {
  explicit PaddedLine(std::string_view text)
      : bytes(std::string(text) + std::string(JsonCells::kPadding, '"')), size(text.size()) {}
  std::string_view line() const { return std::string_view(bytes).substr(0, size); }
  std::string bytes;
  size_t size;
};

// ---- json

// A document, and how often each of the keys comes; nothing for a line that is no object.
struct Parsed {
  json document;
  std::vector<int> times;
};

std::optional<Parsed> ParseSlowly(std::string_view line) {
  if (line.find('\0') != line.npos) return std::nullopt;  // this parser stops there
  Parsed parsed{.document = {}, .times = std::vector<int>(Keys().size())};
  const auto count = [&](int depth, json::parse_event_t event, json& value) {
    for (size_t i = 0; i < Keys().size(); ++i)
      parsed.times[i] += depth == 1 && event == json::parse_event_t::key && value == Keys()[i];
    return true;
  };
  parsed.document = json::parse(line, count, /*allow_exceptions=*/false);
  if (!parsed.document.is_object()) return std::nullopt;
  return parsed;
}

bool Fits(const LineCell& cell, const json& value) {
  if (value.is_null() || value == "") return cell.kind == LineCell::Kind::kMissing;
  return cell.kind == (value.is_array() ? LineCell::Kind::kList : LineCell::Kind::kText);
}

bool SameScalar(std::string_view text, const json& value) {
  if (value.is_string()) return text == value.get_ref<const std::string&>();
  if (value.is_boolean()) return text == (value.get<bool>() ? "1" : "0");
  return value.is_number() &&
         std::strtod(std::string(text).c_str(), nullptr) == value.get<double>();
}

bool IsScalar(const json& value) { return !value.is_null() && !value.is_structured(); }

bool IsGood(const json& value) {
  if (!value.is_array()) return !value.is_object();
  return std::all_of(value.begin(), value.end(), IsScalar);
}

bool SameCell(const LineCells& cells, const LineCell& cell, const json& value) {
  if (!Fits(cell, value)) return false;
  if (cell.kind == LineCell::Kind::kMissing) return true;
  if (cell.kind == LineCell::Kind::kText) return SameScalar(cell.text(), value);
  const auto items = cells.ItemsOf(cell);
  if (items.size() != value.size()) return false;
  for (size_t i = 0; i < items.size(); ++i)
    if (!SameScalar(items[i], value[i])) return false;
  return true;
}

// Another parser refuses numbers beyond those of a double, and goes deeper.
bool IsBeyond(std::string_view line) {
  try {
    [[maybe_unused]] const json parsed = json::parse(line);
  } catch (const json::out_of_range&) {
    return true;
  } catch (const json::exception&) {
  }
  return std::ranges::count(line, '[') + std::ranges::count(line, '{') > 500;
}

void CheckJson(const PaddedLine& padded) {
  static JsonCells reader(Keys(), {});
  LineCells cells;
  cells.cells.resize(Keys().size());
  bool good = true, is_json = true;
  try {
    reader.Read(padded.line(), cells);
  } catch (const BadLine& bad) {
    good = false;
    is_json = !std::string_view(bad.what()).starts_with("expected a JSON object");
  }
  if (IsBeyond(padded.line())) return;
  const std::optional<Parsed> parsed = ParseSlowly(padded.line());
  if (good && !parsed) __builtin_trap();
  if (!parsed) return;  // a cell may be bad before the line stops being JSON
  if (!is_json) __builtin_trap();
  bool expected = std::ranges::all_of(parsed->times, [](int times) { return times < 2; });
  for (const std::string& key : Keys())
    expected = expected && IsGood(parsed->document.value(key, json()));
  if (good != expected) __builtin_trap();
  for (size_t i = 0; good && i < Keys().size(); ++i)
    if (!SameCell(cells, cells.cells[i], parsed->document.value(Keys()[i], json())))
      __builtin_trap();
}

// ---- csv and tsv

const std::vector<DataSchema>& Schemas() {
  static const std::vector<DataSchema> schemas = [] {
    std::vector<DataSchema> all;
    for (const char* format : {R"("csv")", R"("csv", "delimiter": ";")", R"("tsv")"})
      all.push_back(ParseDataSchema(
          Format(R"({{"format": {}, "columns": ["x", "y", "z"], "null": "NA"}})", format)));
    return all;
  }();
  return schemas;
}

// The cells of a line, or nothing where a quote does not end where a cell does.
std::optional<std::vector<std::string>> SplitSlowly(std::string_view line, char delimiter,
                                                    bool quotes) {
  std::vector<std::string> cells(1);
  bool quoted = false, ended = false;  // within quotes; behind those of a cell
  for (size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '"') {
      quoted = i + 1 < line.size() && line[i + 1] == '"';
      if (quoted) cells.back() += line[i++];
      ended = !quoted;
    } else if (quoted) {
      cells.back() += line[i];
    } else if (line[i] == delimiter) {
      cells.emplace_back();
      ended = false;
    } else if (ended) {
      return std::nullopt;
    } else if (quotes && line[i] == '"' && (i == 0 || line[i - 1] == delimiter)) {
      quoted = true;
    } else {
      cells.back() += line[i];
    }
  }
  if (quoted) return std::nullopt;
  return cells;
}

void CheckColumns(const PaddedLine& padded, const DataSchema& schema) {
  const ColumnCells reader(schema);
  const std::vector<std::string> used = {"z", "x"};
  const auto columns = FindColumns(schema, schema.columns, used, "");
  LineCells cells;
  cells.cells.resize(used.size());
  bool good = true;
  try {
    reader.Read(padded.line(), *columns, cells);
  } catch (const BadLine&) {
    good = false;
  }
  const auto expected =
      SplitSlowly(padded.line(), schema.delimiter, schema.format == RowFormat::kCsv);
  if (good != (!padded.line().empty() && expected && expected->size() == schema.columns.size()))
    __builtin_trap();
  for (size_t i = 0; good && i < used.size(); ++i) {
    const std::string& text = (*expected)[i == 0 ? 2 : 0];
    const bool missing = text.empty() || text == "NA";
    if ((cells.cells[i].kind == LineCell::Kind::kMissing) != missing) __builtin_trap();
    if (cells.cells[i].text() != text) __builtin_trap();
  }
}

}  // namespace

std::vector<std::string> Seeds() {
  return {R"({"a": [1, "two", true, -0.5e3], "b\"": "\ud83d\ude00\n", "cé": 12345678901234567890})",
          R"({"x": {"a": [[], {}, null]}, "\u0063\u00e9": null, "y\\": false, "a": ""})",
          "\"one, \"\"two\"\"\",NA,3\"",
          "x,,\"NA\"",
          "1.5\t\"\tNA",
          "a text of more than eight bytes, another that is longer than sixty-four bytes of the "
          "line and ends at last,\"\""};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::fuzz;
  const PaddedLine line(AsText(data, size));
  CheckJson(line);
  for (const tessera::DataSchema& schema : Schemas()) CheckColumns(line, schema);
  return 0;
}
