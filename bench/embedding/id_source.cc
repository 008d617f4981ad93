#include "bench/embedding/id_source.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "bench/harness/point.h"
#include "bench/inputs/id_stream.h"
#include "bench/inputs/trace.h"
#include "data/files/line_reader.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kBlanks = " \t";

// The words of a file's lines that are ids.
struct FileWords {
  std::string path;
  int64_t skip = 0;    // words of each line
  int64_t column = 0;  // from 1; 0: all words
};

int64_t IdOf(std::string_view word) { return static_cast<int64_t>(internal::HashOf(word)); }

// Nullopt for text that names no file.
std::optional<FileWords> ParseFile(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (kind != "lines" && kind != "bags" && kind != "column") return std::nullopt;
  FileWords words{.path = colon == std::string::npos ? "" : text.substr(colon + 1),
                  .skip = kind == "bags" ? 1 : 0};
  if (kind == "column") {
    const size_t second = words.path.find(':');
    words.column = ParseWhole(words.path.substr(0, second));
    words.path = second == std::string::npos ? "" : words.path.substr(second + 1);
    if (words.column < 1) throw Error(Format("ids: columns are counted from 1, got '{}'", text));
  }
  if (words.path.empty()) throw Error(Format("ids: '{}' names no file", text));
  return words;
}

void AppendWords(std::string_view line, int64_t skip, std::vector<int64_t>& ids) {
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (line.empty()) return;
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    if (skip-- <= 0) ids.push_back(IdOf(word));
    line.remove_prefix(word.size());
  }
}

void AppendColumn(std::string_view line, int64_t column, std::vector<int64_t>& ids) {
  for (; column > 1; --column) {
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return;
    line.remove_prefix(tab + 1);
  }
  const std::string_view word = line.substr(0, line.find('\t'));
  if (!word.empty()) ids.push_back(IdOf(word));
}

std::vector<int64_t> ReadWords(const FileWords& words) {
  LineReader reader({words.path});
  std::vector<int64_t> ids;
  for (std::string_view line; reader.Next(line);) {
    if (words.column > 0)
      AppendColumn(line, words.column, ids);
    else
      AppendWords(line, words.skip, ids);
  }
  if (ids.empty()) throw Error(Format("{}: there are no ids", words.path));
  return ids;
}

std::vector<int64_t> DrawIds(const Skew& skew, int64_t count, int64_t rows) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  IdStream(skew, rows, 5, 0).Draw(ids);
  for (int64_t& id : ids) id = IdOf({reinterpret_cast<const char*>(&id), sizeof(id)});
  return ids;
}

}  // namespace

RawIdTrace ReadIdSource(const std::string& text, int64_t count, int64_t rows) {
  const std::optional<FileWords> words = ParseFile(text);
  RawIdTrace trace;
  trace.raw = words ? ReadWords(*words) : DrawIds(ParseSkew(text), count, rows);
  trace.dense = RenamedDensely(trace.raw);
  trace.distinct = *std::max_element(trace.dense.begin(), trace.dense.end()) + 1;
  return trace;
}

void CheckIdSource(const std::string& text) {
  if (ParseFile(text)) return;
  const std::string kind = text.substr(0, text.find(':'));
  if (kind != "uniform" && kind != "zipf" && kind != "distances")
    throw Error(Format("expected {}, got '{}'", kIdSourceHelp, text));
  ParseSkew(text);
}

}  // namespace tessera::bench
