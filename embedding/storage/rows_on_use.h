#ifndef TESSERA_EMBEDDING_STORAGE_ROWS_ON_USE_H_
#define TESSERA_EMBEDDING_STORAGE_ROWS_ON_USE_H_
// A table and the states of its rule at addresses in host memory that are reserved for all rows
// (runtime/virtual_memory.h), where a row takes memory when it starts: when a batch first names it,
// or when it is written with other values than it would start with.
//
//   started      its values lie at its place
//   not started  its place is untouched; whoever reads the row gets the values of row_start.h, and
//                states of 0, which are made for the reader
//
// So values do not depend on which rows have started, and a table has all its rows from the start.
// One thread at a time.
#include <cstdint>
#include <span>
#include <vector>

#include "embedding/storage/row_start.h"
#include "embedding/storage/started_rows.h"
#include "runtime/context.h"
#include "runtime/tensor.h"

namespace tessera {

class RowsOnUse {
 public:
  // parts: shapes and types of the weights [E, D] and of the states [E, D] or [E]. No row has
  // started.
  RowsOnUse(std::span<const Tensor> parts, const RowStart& start);

  // All rows, of which those that have started may be read and written.
  const std::vector<Tensor>& parts() const { return parts_; }
  int64_t num_started() const { return num_started_; }
  // The rows that have started, in runs of 64 rows that have one of them.
  StartedRows Started() const;
  // Bytes that lie in memory now.
  int64_t ResidentBytes() const;

  // Starts those of the rows that have not started; numbers that name no row are left out. ids: i32
  // or i64, of the host.
  void Start(const Tensor& ids);
  // Rows of one part, [n, row bytes] in host memory. Of a row that comes again, the last one
  // counts. Throw Error for a row that is out of range, and change nothing.
  void Read(int part, std::span<const int64_t> rows, void* bytes);
  void Write(int part, std::span<const int64_t> rows, const void* bytes);

 private:
  int64_t num_rows() const { return parts_[0].dim(0); }
  bool IsStarted(int64_t row) const;
  void StartRows(std::vector<int64_t> rows);
  void CheckRows(std::span<const int64_t> rows) const;
  void ReadPiece(int part, std::span<const int64_t> rows, char* bytes);
  Tensor FirstRows(int64_t first, int64_t count);

  std::vector<Tensor> parts_;
  Tensor started_;  // a bit a row
  RowStart start_;
  Context host_;  // rows are made here
  int64_t num_started_ = 0;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_STORAGE_ROWS_ON_USE_H_
