#ifndef TESSERA_DATA_ROW_TABLE_H_
#define TESSERA_DATA_ROW_TABLE_H_
// A data set whose rows can be read in any order: mapped files, what fits in memory, what is made
// up on the spot. Any thread may read.
#include <span>

#include "data/data_source.h"
#include "runtime/context.h"

namespace tessera {

class RowTable {
 public:
  virtual ~RowTable() = default;
  virtual int64_t rows() const = 0;
  // The rows, in the order given, as a batch of the host; where they came from is left to the
  // caller. Throws Error for data that are not what was written. REQUIRES: each in [0, rows()).
  virtual Batch Gather(Context& ctx, std::span<const int64_t> rows) const = 0;
};

}  // namespace tessera
#endif  // TESSERA_DATA_ROW_TABLE_H_
