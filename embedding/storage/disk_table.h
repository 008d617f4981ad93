#ifndef TESSERA_EMBEDDING_STORAGE_DISK_TABLE_H_
#define TESSERA_EMBEDDING_STORAGE_DISK_TABLE_H_
// A table and the states of its rule on disk: row_log.h with a record a row. Rows start uniform, as
// FillUniform would fill a table in memory, when they are first read; states start 0. So a new
// table is made at once, whatever its size.
//
//   record   the row of each part (weights, then states), the longest first, without gaps
//   staged   records in memory, each at a multiple of staged_bytes(): one of 16
//
// Memory never holds the table: whoever reads or writes all of it does so some rows at a time.
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "embedding/storage/disk_stats.h"
#include "embedding/storage/row_log.h"
#include "embedding/storage/row_start.h"
#include "runtime/tensor.h"

namespace tessera {

class DiskTable {
 public:
  // parts: the weights [E, D], then states [E, D] or [E]; shapes and types alone are looked at.
  // Throws Error where there is no room for them.
  DiskTable(std::shared_ptr<BlockIo> io, const std::vector<Tensor>& parts, const RowStart& start,
            const RowLogOptions& options = {});

  int64_t rows() const { return log_.rows(); }
  int num_parts() const { return static_cast<int>(parts_.size()); }
  int64_t offset(int part) const { return parts_.at(static_cast<size_t>(part)).offset; }
  int64_t row_bytes(int part) const { return parts_.at(static_cast<size_t>(part)).row_bytes; }
  int64_t staged_bytes() const { return staged_bytes_; }
  RowLog& log() { return log_; }
  DiskStats stats() const;

  // Rows `rows` of one part, [n, row_bytes] in host memory. Writing leaves the other parts as they
  // are; of a row that comes again, the last one counts. A cache in front of the table (RowCache)
  // is flushed first, and reset after writing. Throws Error for a row that is out of range, and
  // changes nothing; and where the disk fails: then some of the rows may have been written.
  void ReadPart(int part, std::span<const int64_t> rows, void* bytes);
  void WritePart(int part, std::span<const int64_t> rows, const void* bytes);
  // Rows [first, first + count).
  void ReadPart(int part, int64_t first, int64_t count, void* bytes);
  void WritePart(int part, int64_t first, int64_t count, const void* bytes);
  // fn(first, host tensors of the parts' rows [n, …]) for all rows, some at a time; `written`: what
  // fn made of them is written back.
  void ForEachPiece(bool written,
                    const std::function<void(int64_t, const std::vector<Tensor>&)>& fn);

 private:
  struct Part {
    Shape row_shape;  // with one row
    DType dtype;
    int64_t row_bytes, offset;
  };
  static std::vector<Part> PartsOf(const std::vector<Tensor>& parts);
  void MakeRecord(int64_t row, char* record);
  // Staged records of rows, read; at most kPieceRows.
  std::vector<char> Staged(std::span<const int64_t> rows);
  static constexpr int64_t kPieceRows = 1 << 14;

  std::vector<Part> parts_;
  int64_t staged_bytes_;
  RowStart start_;
  Context host_;  // rows are made here
  RowLog log_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_STORAGE_DISK_TABLE_H_
