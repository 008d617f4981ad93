#include "cli/runs/folded_table.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "cli/wrapped_text.h"
#include "runtime/base/report_text.h"

namespace tessera::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows Exchanged(const Rows& rows) {
  Rows exchanged(rows[0].size());
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) exchanged[c].push_back(row[c]);
  return exchanged;
}

// The first column and those from `begin` to `end`.
std::string Part(const Rows& rows, size_t begin, size_t end) {
  Rows part;
  for (const auto& row : rows) {
    part.push_back({row[0]});
    for (size_t c = begin; c < end; ++c) part.back().push_back(row[c]);
  }
  return internal::TextTable(part);
}

bool Fits(const std::string& table) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);)
    if (TextWidth(line) > kTextColumns) return false;
  return true;
}

std::string InParts(const Rows& rows) {
  std::string text;
  for (size_t begin = 1, end = 1; begin < rows[0].size(); begin = end) {
    std::string part = Part(rows, begin, ++end);
    for (std::string more; end < rows[0].size(); ++end, part = std::move(more))
      if (more = Part(rows, begin, end + 1); !Fits(more)) break;
    text += (text.empty() ? "" : "\n") + part;
  }
  return text;
}

}  // namespace

std::string FoldedTable(const Rows& rows) {
  std::string table = internal::TextTable(rows);
  if (rows.empty() || Fits(table)) return table;
  const Rows exchanged = Exchanged(rows);
  if (table = internal::TextTable(exchanged); Fits(table)) return table;
  std::string parts = InParts(rows), others = InParts(exchanged);
  return std::ranges::count(others, '\n') < std::ranges::count(parts, '\n') ? others : parts;
}

}  // namespace tessera::cli
