#include "bench/lab/row_check.h"

#include <algorithm>

#include "embedding/lookup/element.h"
#include "runtime/base/check.h"

namespace tessera::bench {

void CheckRows(const std::string& what, const RowsAt& rows, const void* expected, const void* got) {
  const auto *ours = static_cast<const char*>(expected), *theirs = static_cast<const char*>(got);
  const int64_t size = SizeOf(rows.type), bytes = rows.count * rows.columns * size;
  const int64_t at = std::mismatch(ours, ours + bytes, theirs).first - ours;
  if (at == bytes) return;
  const int64_t number = at / size, row = rows.first + number / rows.columns;
  const std::string column =
      rows.columns > 1 ? Format(", column {}", number % rows.columns) : std::string();
  TESSERA_FAIL("{} of row {}{}: expected {:.9g}, got {:.9g}", what, row, column,
               internal::LoadElement(expected, rows.type, number),
               internal::LoadElement(got, rows.type, number));
}

}  // namespace tessera::bench
