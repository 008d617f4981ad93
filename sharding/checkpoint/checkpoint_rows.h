#ifndef TESSERA_SHARDING_CHECKPOINT_CHECKPOINT_ROWS_H_
#define TESSERA_SHARDING_CHECKPOINT_CHECKPOINT_ROWS_H_
// Rows of any rectangle of a table, put together from the rectangles that files, or other ranks,
// hold: of the weights, of an [E, D] state, or of a state of one number a row.
//
// A number a row belongs to a column block. For a rectangle whose columns one stored block covers
// it is that block's, bit for bit; else the mean of the blocks' that it meets, weighted by the
// columns it has of each, in double.
#include <functional>
#include <vector>

#include "embedding/storage/started_rows.h"
#include "runtime/numbers/dtype.h"
#include "sharding/plan/plan.h"

namespace tessera {

// A tensor of a stored rectangle: [rows, columns], or [rows]. read: bytes [begin, begin + count).
struct StoredPart {
  Shard shard;
  std::function<void(int64_t begin, int64_t count, void* out)> read;
};

class RowReader {
 public:
  // `parts` are those that meet `wanted`, and cover it.
  RowReader(const Shard& wanted, DType dtype, bool per_row, std::vector<StoredPart> parts);

  int64_t row_bytes() const;
  // Rows [first, first + count) of `wanted`. Throws what `read` throws.
  void Read(int64_t first, int64_t count, void* out);
  // Bytes [begin, begin + count) of all rows.
  void ReadBytes(int64_t begin, int64_t count, void* out);

  // fn(first, count) for all rows, as many at a time as fit into kPieceBytes, at least one.
  void ForEachBlock(const std::function<void(int64_t first, int64_t count)>& fn) const;
  // For the rows in runs, of which none lies in two.
  void ForEachBlock(const std::vector<RunOfRows>& runs,
                    const std::function<void(int64_t first, int64_t count)>& fn) const;

 private:
  void ReadElements(const StoredPart& part, int64_t begin, int64_t end, char* out);
  void ReadStatistics(int64_t begin, int64_t end, char* out);
  void ReadNumbers(const StoredPart& part, int64_t begin, int64_t end, void* out);

  Shard wanted_;
  DType dtype_;
  bool per_row_;
  std::vector<StoredPart> parts_;
};

// The columns, or rows, that two rectangles share; 0 or less if none.
int64_t SharedRows(const Shard& a, const Shard& b);
int64_t SharedColumns(const Shard& a, const Shard& b);

}  // namespace tessera
#endif  // TESSERA_SHARDING_CHECKPOINT_CHECKPOINT_ROWS_H_
