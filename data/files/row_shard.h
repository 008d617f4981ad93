#ifndef TESSERA_DATA_FILES_ROW_SHARD_H_
#define TESSERA_DATA_FILES_ROW_SHARD_H_
// One shard of a row folder: a safetensors file, written with checksums and mapped to be read.
#include <map>
#include <memory>
#include <string>

#include "data/files/row_folder_index.h"
#include "data/files/stored_rows.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/safetensors.h"
#include "runtime/tensor.h"

namespace tessera {

// Writes the tensors as the next shard of the folder and adds it to the index. Throws Error when it
// can't. REQUIRES: contiguous tensors of the host.
void WriteRowShard(Context& ctx, const std::string& folder, int64_t rows,
                   std::map<std::string, Tensor> tensors, RowFolderIndex& index);

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
