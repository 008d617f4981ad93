#ifndef TESSERA_DATA_FILES_STORED_ROWS_H_
#define TESSERA_DATA_FILES_STORED_ROWS_H_
// Rows that preprocessing has made ready, in mapped files: numbers as a model takes them, and one
// id a feature. What npy files (npy_rows.h) and row folders (row_folder.h) are read as.
//
// A model's features name columns. An id becomes id mod rows of its table, not negative, as
// TorchRec's `hashes` do; raw ids stay as they are.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/batch_builder.h"
#include "data/row_table.h"
#include "runtime/tensor.h"

namespace tessera {

// id mod rows, not negative. REQUIRES: rows > 0.
int64_t PositiveModulo(int64_t id, int64_t rows);
// Returns the id modulo `rows`; with rows = 0 the id as it is.
inline int64_t HashedId(int64_t id, int64_t rows) {
  return rows == 0 ? id : PositiveModulo(id, rows);
}

// Bytes that are checked against what was written before they are first used.
class CheckedBytes {
 public:
  // `checksums`: as runtime/files/checkpoint_checksums.h has them; "" checks nothing. `name` is
  // what errors call the bytes.
  CheckedBytes(const char* data, int64_t bytes, std::string checksums, std::string name);
  ~CheckedBytes();

  // Throws Error if the bytes from `begin` on are not what was written. Any thread may call.
  void Check(int64_t begin, int64_t count) const;

 private:
  struct Pieces;
  void CheckPiece(int64_t piece) const;

  const char* data_;
  int64_t bytes_;
  std::string checksums_, name_;
  std::unique_ptr<Pieces> pieces_;
};

// One column, or several side by side: a row of it is contiguous.
struct StoredColumns {
  Tensor tensor;                              // [n] or [n, columns], borrowed from a mapping
  std::shared_ptr<const CheckedBytes> check;  // null: nothing is known of the bytes

  int64_t columns() const { return tensor.rank() == 1 ? 1 : tensor.dim(1); }
  // Checked. REQUIRES: 0 ≤ row < n; they lie in [0, n).
  const char* Row(int64_t row) const { return Rows(row, 1); }
  const char* Rows(int64_t first, int64_t count) const;
  // Elements from one on, row-major; checked. REQUIRES: they are there.
  const char* Elements(int64_t first, int64_t count) const;
};

// A file, or three of them, of rows that follow each other.
struct StoredRowsPart {
  std::string name;      // for errors
  StoredColumns dense;   // [n, D] f32
  StoredColumns ids;     // [n, F] i32 or i64
  StoredColumns labels;  // [n] or [n, 1], f32 or i32
  // For errors about ids and labels in files of their own; "": `name`.
  std::string ids_name = "", labels_name = "";

  const std::string& ids_file() const { return ids_name.empty() ? name : ids_name; }
  const std::string& labels_file() const { return labels_name.empty() ? name : labels_name; }
  int64_t rows() const { return dense.tensor.dim(0); }
};

// Finds the rows of the parts.
class StoredParts {
 public:
  // Throws Error, naming the part, for shapes or types other than StoredRowsPart's, parts of
  // unequal widths, or no part.
  StoredParts(std::vector<StoredRowsPart> parts, std::vector<std::string> id_columns);

  int64_t rows() const { return first_.back(); }
  int64_t dense_columns() const { return parts_.front().dense.tensor.dim(1); }
  const std::vector<std::string>& id_columns() const { return id_columns_; }
  const std::vector<StoredRowsPart>& parts() const { return parts_; }
  // The part with a row, and the row's number in it.
  std::pair<const StoredRowsPart*, int64_t> Find(int64_t row) const;
  // An id, and a label. REQUIRES: the row is in the part.
  static int64_t Id(const StoredRowsPart& part, const char* ids, int64_t column);
  static float Label(const StoredRowsPart& part, int64_t row);

 private:
  std::vector<StoredRowsPart> parts_;
  std::vector<std::string> id_columns_;
  std::vector<int64_t> first_;  // row of each part, then of all
};

class StoredRows final : public RowTable {
 public:
  // Throws Error for a feature that is no column.
  StoredRows(StoredParts parts, const std::vector<CategoricalFeature>& features);

  int64_t rows() const override { return parts_.rows(); }
  int64_t dense_columns() const { return parts_.dense_columns(); }
  // Ids are i32 where all tables allow it, else i64 (raw ids too).
  Batch Gather(Context& ctx, std::span<const int64_t> rows) const override;

 private:
  template <typename Id>
  Tensor Ids(Context& ctx, std::span<const std::pair<const StoredRowsPart*, int64_t>> rows) const;

  StoredParts parts_;
  std::vector<std::string> keys_;
  std::vector<std::pair<int64_t, int64_t>> columns_;  // of the parts, and hash sizes
  DType id_type_ = DType::kI32;
};

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_STORED_ROWS_H_
