#ifndef TESSERA_DATA_SPLIT_ROW_SUBSET_H_
#define TESSERA_DATA_SPLIT_ROW_SUBSET_H_
// Some rows of a table as a table: row i of it is the i-th of them. A bit for each row of the whole
// table says which, so that a billion rows take 125 MB.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/click_row_stream.h"
#include "data/row_table.h"
#include "runtime/context.h"

namespace tessera {

namespace internal {

inline constexpr int64_t kWordBits = 64;

}  // namespace internal

// A bit for each row, 64 to a word, the first ones lowest.
using RowBits = std::vector<uint64_t>;

class RowSubset final : public RowTable {
 public:
  // The rows of the range whose bits are `wanted`. Throws Error for a range that the table does not
  // fill. REQUIRES: a bit for each row of the table.
  RowSubset(std::shared_ptr<const RowTable> table, const RowBits& bits, bool wanted,
            RowRange range);

  int64_t rows() const override { return before_.back(); }
  Batch Gather(Context& ctx, std::span<const int64_t> rows) const override;
  // The whole table's number of a row. REQUIRES: 0 ≤ row < rows().
  int64_t NumberOf(int64_t row) const;

 private:
  std::shared_ptr<const RowTable> table_;
  RowBits bits_;                 // of the rows that this has
  std::vector<int64_t> before_;  // rows before each block of kWords words, then all
};

}  // namespace tessera
#endif  // TESSERA_DATA_SPLIT_ROW_SUBSET_H_
