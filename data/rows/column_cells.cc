#include "data/rows/column_cells.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "data/rows/bad_line.h"
#include "data/rows/find_byte.h"
#include "data/rows/word_table.h"
#include "runtime/base/check.h"
#include "runtime/base/report_text.h"
#include "runtime/json/utf8.h"

namespace tessera {
namespace {

// "; all is one column: is the delimiter ';'?" where a heading is so, and has a usual delimiter.
std::string OtherDelimiter(const DataSchema& schema, const std::vector<std::string>& columns) {
  if (columns.size() != 1) return "";
  for (const char c : kUsualDelimiters)
    if (c != schema.delimiter && columns[0].find(c) != std::string::npos)
      return Format("; all is one column: is the delimiter {}?",
                    c == '\t' ? "a tab" : Format("'{}'", c));
  return "";
}

std::string Columns(size_t count) {
  return internal::Counted(static_cast<int64_t>(count), "column");
}

// Throws Error for the first line of a text that is not read as lines of UTF-8. A quoted cell may
// hold the end of a line.
void CheckText(std::string_view line, const std::string& where) {
  if (line.starts_with("\xff\xfe") || line.starts_with("\xfe\xff") || line.find('\0') != line.npos)
    throw Error(
        Format("{}: expected UTF-8, got UTF-16 or bytes that are no text (iconv -f UTF-16 "
               "-t UTF-8 writes UTF-8)",
               where));
  if (line.find('\r') < line.find('"'))
    throw Error(
        Format("{}: expected lines that end with \\n or \\r\\n, got \\r alone (tr "
               "'\\r' '\\n' writes the former)",
               where));
}

}  // namespace

std::shared_ptr<const FileColumns> FindColumns(const DataSchema& schema,
                                               const std::vector<std::string>& columns,
                                               const std::vector<std::string>& used,
                                               const std::string& where) {
  const WordTable table(columns);
  std::vector<int32_t> cells(columns.size(), -1);
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < used.size(); ++i) {
    numbers.push_back(table.Find(used[i]));
    if (numbers.back() < 0)
      throw Error(Format("{}: there is no column '{}'; there are {}{}", where, used[i],
                         ListedColumns(columns), OtherDelimiter(schema, columns)));
    cells[static_cast<size_t>(numbers.back())] = static_cast<int32_t>(i);
  }
  const auto takes_rest = [&](const auto& entry) {
    return entry.from == columns.back() && entry.separator == std::string(1, schema.delimiter);
  };
  const bool rest = std::ranges::any_of(schema.features, takes_rest) ||
                    std::ranges::any_of(schema.dense, takes_rest);
  return std::make_shared<const FileColumns>(
      FileColumns{std::move(cells), CellPlaces(used, std::move(numbers)), rest});
}

inline std::string_view ColumnCells::Take(const char*& p, const char* end, size_t column,
                                          std::string& unquoted) const {
  if (quotes_ && p != end && *p == '"') return TakeQuoted(p, end, column, unquoted);
  const char* const begin = p;
  p = internal::FindByte(p, end, delimiter_);
  return {begin, static_cast<size_t>(p - begin)};
}

std::vector<std::string> SplitLine(const DataSchema& schema, std::string_view line,
                                   const std::string& where) {
  CheckText(line, where);
  const ColumnCells reader(schema);
  std::vector<std::string> cells;
  std::string unquoted;
  const std::string padded = std::string(line) + std::string(internal::kFindPadding, '\0');
  const char* p = padded.data();
  const char* const end = p + line.size();
  try {
    for (;; ++p) {
      cells.emplace_back(reader.Take(p, end, cells.size(), unquoted));
      if (p == end) return cells;
    }
  } catch (const BadLine& bad) {
    throw Error(Format("{}: {}", where, bad.what()));
  }
}

std::vector<std::string> HeadingColumns(const DataSchema& schema, std::string_view line,
                                        const std::string& where) {
  if (line.empty()) throw Error(Format("{}: expected a heading, got an empty line", where));
  std::vector<std::string> columns = SplitLine(schema, line, where);
  std::set<std::string> seen;
  for (const std::string& column : columns)
    if (!seen.insert(column).second)
      throw Error(Format("{}: two columns are called '{}'", where, internal::AsUtf8(column)));
  return columns;
}

std::vector<std::string> TakeHeading(const DataSchema& schema, TextPiece& piece) {
  if (piece.lines == 0)
    throw Error(Format("{}: expected a heading, got an empty file", piece.path));
  std::vector<std::string> columns =
      HeadingColumns(schema, TakeLine(piece.text), Format("{}:1", piece.path));
  ++piece.first_line;
  --piece.lines;
  return columns;
}

std::string_view ColumnCells::TakeQuoted(const char*& p, const char* end, size_t column,
                                         std::string& unquoted) const {
  const auto refuse = [column](const char* why) {
    throw BadLine(Format("column {}", column + 1), why, {});
  };
  const size_t begin = unquoted.size();
  for (++p;; ++p) {
    const void* const quote =
        p == end ? nullptr : std::memchr(p, '"', static_cast<size_t>(end - p));
    if (quote == nullptr) refuse("a quote does not end in its line, which a row is");
    const char* const stop = static_cast<const char*>(quote);
    unquoted.append(p, stop);
    p = stop + 1;
    if (p == end || *p != '"') break;
    unquoted += '"';
  }
  if (p != end && *p != delimiter_) refuse("a quote does not end where a column does");
  return std::string_view(unquoted).substr(begin);
}

inline void ColumnCells::SetText(std::string_view text, LineCell& cell) const {
  cell = TextCell(text);  // without a branch, which would go either way
  if (text.empty()) cell.kind = LineCell::Kind::kMissing;
  for (const std::string& missing : null_)
    if (text == missing) cell.kind = LineCell::Kind::kMissing;
}

// A cell alone, which may be quoted, is split at its separators as it is in any other column.
void ColumnCells::TakeRest(const char* p, const char* end, size_t column, LineCell& cell,
                           LineCells& out) const {
  cell.kind = LineCell::Kind::kList;
  cell.begin = static_cast<uint32_t>(out.items.size());
  if (!quotes_ || std::memchr(p, '"', static_cast<size_t>(end - p)) == nullptr) {
    internal::SplitAtByte(p, end, delimiter_, out.items);
  } else {
    for (;; ++p) {
      out.items.push_back(Take(p, end, column + out.items.size() - cell.begin, out.unquoted));
      if (p == end) break;
    }
  }
  cell.count = static_cast<uint32_t>(out.items.size()) - cell.begin;
  if (cell.count == 1) SetText(out.items.back(), cell);
}

void ColumnCells::ThrowCount(std::string_view line, size_t expected) const {
  const char* p = line.data();
  const char* const end = p + line.size();
  size_t count = 0;
  std::string unquoted;
  for (;; ++p) {
    Take(p, end, count, unquoted);
    ++count;
    if (p == end) break;
  }
  throw BadLine("expected " + Columns(expected), Format("{}", count));
}

bool ColumnCells::ReadPlain(std::string_view line, const FileColumns& columns,
                            LineCells& out) const {
  const char* p = line.data();
  const char* const end = p + line.size();
  internal::ByteScan delimiters(p, end, delimiter_);
  for (const int32_t at : columns.cells) {
    if (p > end) return false;
    const char* const stop = delimiters.Next();
    if (at >= 0) SetText({p, static_cast<size_t>(stop - p)}, out.cells[static_cast<size_t>(at)]);
    p = stop + 1;
  }
  return p > end;
}

void ColumnCells::Read(std::string_view line, const FileColumns& columns, LineCells& out) const {
  const size_t count = columns.cells.size();
  if (line.empty()) throw BadLine("expected " + Columns(count), "a blank line");
  out.items.clear();
  if (!columns.rest && (!quotes_ || line.find('"') == line.npos)) {
    if (!ReadPlain(line, columns, out)) ThrowCount(line, count);
    return;
  }
  out.unquoted.clear();
  if (quotes_)
    out.unquoted.reserve(line.size() + internal::kFindPadding);  // texts stay where they are
  const char* p = line.data();
  const char* const end = p + line.size();
  for (size_t c = 0; c < count; ++c, ++p) {
    const int32_t at = columns.cells[c];
    const bool last = c + 1 == count;
    if (last && columns.rest) {
      LineCell unused;
      TakeRest(p, end, c, at < 0 ? unused : out.cells[static_cast<size_t>(at)], out);
      return;
    }
    const std::string_view text = Take(p, end, c, out.unquoted);
    if (at >= 0) SetText(text, out.cells[static_cast<size_t>(at)]);
    if ((p == end) == last) {
      if (last) return;
      continue;
    }
    // One column before the rest may be the end of the line.
    if (p != end || !columns.rest || c + 2 != count) ThrowCount(line, count);
    if (const int32_t rest = columns.cells[c + 1]; rest >= 0)
      out.cells[static_cast<size_t>(rest)].kind = LineCell::Kind::kMissing;
    return;
  }
}

}  // namespace tessera
