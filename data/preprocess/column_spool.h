#ifndef TESSERA_DATA_PREPROCESS_COLUMN_SPOOL_H_
#define TESSERA_DATA_PREPROCESS_COLUMN_SPOOL_H_
// The rows of all inputs on disk, a file for each column of ids, one for numbers and one for
// labels, mapped to be read: what the first pass leaves for the second. They lie in a folder that
// goes with the spool.
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/preprocess/raw_input.h"
#include "runtime/files/mapped_file.h"

namespace tessera {

class ColumnSpool {
 public:
  // Makes the folder, and whatever was in it goes.
  ColumnSpool(const std::string& folder, int64_t dense_columns, int64_t id_columns);
  ~ColumnSpool();
  ColumnSpool(const ColumnSpool&) = delete;
  ColumnSpool& operator=(const ColumnSpool&) = delete;

  // Throws Error when it can't be written.
  void Append(const RawRow& row);
  // No more rows; they can be read from now on.
  void Close();

  const std::string& folder() const { return folder_; }
  int64_t rows() const { return rows_; }
  float label(int64_t row) const;
  std::span<const double> dense(int64_t row) const;
  std::span<const int64_t> ids(int64_t column) const;
  // Room for other ids in place of a column's; UseNewIds puts them there.
  std::span<int64_t> NewIds(int64_t column);
  void UseNewIds(int64_t column);

 private:
  // A file that is written, then mapped.
  struct Column {
    std::string path;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{nullptr, std::fclose};
    std::optional<MappedFile> map;
  };
  Column NewColumn(const std::string& name) const;
  void Write(Column& column, const void* bytes, size_t count);
  void Map(Column& column);

  std::string folder_;
  int64_t rows_ = 0, dense_columns_;
  Column labels_, dense_;
  std::vector<Column> ids_;
  std::optional<MappedFile> new_ids_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_PREPROCESS_COLUMN_SPOOL_H_
