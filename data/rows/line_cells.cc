#include "data/rows/line_cells.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/json/utf8.h"

namespace tessera {

std::string_view TakeLine(std::string_view& text) {
  const void* const end = std::memchr(text.data(), '\n', text.size());
  const size_t length = end == nullptr
                            ? text.size()
                            : static_cast<size_t>(static_cast<const char*>(end) - text.data());
  std::string_view line = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string ListedColumns(const std::vector<std::string>& columns) {
  constexpr size_t kShown = 100;
  std::string text;
  for (size_t i = 0; i < std::min(columns.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + internal::AsUtf8(columns[i]);
  if (columns.size() > kShown) text += Format(", … ({} in all)", columns.size());
  return text;
}

std::string CellPlaces::Of(size_t cell, int64_t item) const {
  const std::string name = item < 0 ? names_[cell] : Format("{}[{}]", names_[cell], item);
  return columns_.empty() ? name : Format("column {} ({})", columns_[cell] + 1, name);
}

}  // namespace tessera
