#ifndef TESSERA_DATA_FILES_ROW_SHARD_H_
#define TESSERA_DATA_FILES_ROW_SHARD_H_
// Shards of a row folder: safetensors files with checksums, written all together, and mapped to be
// read one by one.
#include <map>
#include <memory>
#include <string>

#include "data/files/row_folder_index.h"
#include "data/files/stored_rows.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/safetensors.h"
#include "runtime/tensor.h"

namespace tessera {

// Writes a row folder, shard by shard. Rows that are whole in the folder stay readable until
// Commit:
//
//   1. the new shards are `.new-1-rows-00000.safetensors`, … beside them
//   2. the rename of an index that names these is the commit; the old shards are removed
//   3. hard links give the new shards their usual names, a second index names them by these, and
//      the first names go
//
// A crash leaves the old rows, or the new ones, maybe with files that the index does not name; the
// next writer removes those. Where step 3 fails (no hard links, a full disk), the first names stay.
// A folder without an index gets shards of the usual names at once. One thread at a time.
class RowFolderOutput {
 public:
  // Makes the folder. Throws Error when it can't.
  explicit RowFolderOutput(const std::string& folder);
  ~RowFolderOutput();  // without Commit, shards beside those of whole rows go
  RowFolderOutput(const RowFolderOutput&) = delete;
  RowFolderOutput& operator=(const RowFolderOutput&) = delete;

  // It is written down by Commit; WriteShard adds shards and their rows.
  RowFolderIndex& index() { return index_; }
  // Writes the tensors as the next shard. Throws Error when it can't. REQUIRES: contiguous tensors
  // of the host.
  void WriteShard(Context& ctx, int64_t rows, std::map<std::string, Tensor> tensors);
  // Makes the rows those of the folder. Throws Error when it can't; earlier rows are then there.
  void Commit();

 private:
  // The file of a shard while it is written.
  std::string PathOf(const RowShard& shard) const;
  void RemoveAllBut(const RowFolderIndex& named) const;
  void TakeUsualNames();

  std::string folder_, prefix_;  // of shards' first names; "" where these are the usual ones
  RowFolderIndex index_;
  bool committed_ = false;
};

class MappedRowShard {
 public:
  // Throws Error, naming the file, for one that is missing, truncated, or has a bad header.
  MappedRowShard(const std::string& folder, const RowShard& shard);

  const std::string& path() const { return file_->path(); }
  int64_t rows() const { return shard_.rows; }
  bool Has(const std::string& tensor) const { return shard_.checksums.contains(tensor); }
  // Throws Error, naming the file, for a tensor that is not there or has no checksums.
  StoredColumns Columns(const std::string& tensor) const;
  // Columns that must have the type and shape. Throws Error, naming file and tensor.
  StoredColumns Columns(const std::string& tensor, DType dtype, const Shape& shape) const;

 private:
  RowShard shard_;
  SafetensorsFile content_;
  std::shared_ptr<const MappedFile> file_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_ROW_SHARD_H_
