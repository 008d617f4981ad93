#include "bench/inputs/table_file.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "bench/harness/point.h"
#include "data/files/line_reader.h"
#include "runtime/base/check.h"
#include "runtime/base/size_limits.h"
#include "runtime/files/files.h"
#include "runtime/json/json_object.h"
#include "train/config/train_config.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kConfig = "config:";
constexpr const char* kNames[] = {"rows", "dim", "pooling", "skew"};

using Cells = std::map<std::string, std::string>;  // by name

int64_t Whole(const Cells& cells, const std::string& name, int64_t most) {
  const auto cell = cells.find(name);
  if (cell == cells.end()) throw Error(Format("expected its {}, got none", name));
  try {
    WholeFrom(1, most)(cell->second);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", name, error.what()));
  }
  return ParseWhole(cell->second);
}

FileTable TableOf(const Cells& cells, const std::string& where) {
  try {
    FileTable table{Whole(cells, "rows", SizeLimits::kRows), Whole(cells, "dim", kMaxDim)};
    if (const auto text = cells.find("pooling"); text != cells.end())
      table.lengths = ParseBagLengths(text->second);
    if (const auto text = cells.find("skew"); text != cells.end())
      table.skew = ParseSkew(text->second);
    return table;
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
}

Cells CellsOf(const internal::Json& table, const std::string& where) {
  internal::JsonObject object(table, where);
  Cells cells;
  for (const char* name : kNames)
    if (const internal::Json* value = object.Find(name))
      cells[name] = value->is_string() ? value->get<std::string>() : value->dump();
  object.Finish();
  return cells;
}

std::vector<FileTable> ReadJson(const std::string& path) {
  const std::string text = ReadTextFile(path);
  internal::Json all;
  try {
    all = internal::ParseJson(text);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", path, error.what()));
  }
  if (!all.is_array()) internal::ThrowExpected(path, "a list of tables", all);
  std::vector<FileTable> tables;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string where = Format("{}: [{}]", path, i);
    tables.push_back(TableOf(CellsOf(all[i], where), where));
  }
  return tables;
}

std::vector<std::string> SplitLine(std::string_view line) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(',', begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    const size_t first = std::min(word.find_first_not_of(" \t"), word.size());
    words.emplace_back(word.substr(first, word.find_last_not_of(" \t") + 1 - first));
    begin = end + 1;
  }
  return words;
}

std::vector<std::string> HeadingOf(LineReader& reader, const std::string& path) {
  std::string_view line;
  if (!reader.Next(line)) throw Error(Format("{}: expected a heading, got an empty file", path));
  std::vector<std::string> names = SplitLine(line);
  for (const std::string& name : names)
    if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
      throw Error(Format("{}: expected a heading of rows, dim, pooling and skew, got '{}'",
                         reader.where(), name));
  for (const std::string& name : names)
    if (std::count(names.begin(), names.end(), name) > 1)
      throw Error(Format("{}: expected each column once, got '{}' twice", reader.where(), name));
  return names;
}

std::vector<FileTable> ReadCsv(const std::string& path) {
  LineReader reader({path});
  const std::vector<std::string> names = HeadingOf(reader, path);
  std::vector<FileTable> tables;
  for (std::string_view line; reader.Next(line);) {
    const std::vector<std::string> words = SplitLine(line);
    if (words == std::vector<std::string>{""}) continue;  // a blank line
    if (words.size() != names.size())
      throw Error(
          Format("{}: expected {} cells, got {}", reader.where(), names.size(), words.size()));
    Cells cells;
    for (size_t i = 0; i < words.size(); ++i)
      if (!words[i].empty()) cells[names[i]] = words[i];
    tables.push_back(TableOf(cells, reader.where()));
  }
  return tables;
}

std::vector<FileTable> ReadConfig(const std::string& path) {
  std::vector<FileTable> tables;
  for (const EmbeddingBagConfig& table : ReadTrainConfig(path).tables)
    tables.push_back({table.num_embeddings, table.embedding_dim});
  return tables;
}

}  // namespace

bool NamesTableFile(const std::string& text) {
  return text.starts_with(kConfig) || text.ends_with(".json") || text.ends_with(".csv");
}

std::vector<FileTable> ReadTableFile(const std::string& text) {
  std::vector<FileTable> tables = text.starts_with(kConfig)
                                      ? ReadConfig(text.substr(kConfig.size()))
                                  : text.ends_with(".json") ? ReadJson(text)
                                                            : ReadCsv(text);
  if (tables.empty()) throw Error(Format("{}: expected tables, got none", text));
  return tables;
}

}  // namespace tessera::bench
