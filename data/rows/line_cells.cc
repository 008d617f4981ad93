#include "data/rows/line_cells.h"

#include "runtime/base/check.h"

namespace tessera {

std::string CellPlaces::Of(size_t cell, int64_t item) const {
  const std::string name = item < 0 ? names_[cell] : Format("{}[{}]", names_[cell], item);
  return columns_.empty() ? name : Format("column {} ({})", columns_[cell] + 1, name);
}

}  // namespace tessera
