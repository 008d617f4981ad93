#ifndef TESSERA_DATA_FILES_ROW_FOLDER_H_
#define TESSERA_DATA_FILES_ROW_FOLDER_H_
// Rows of Criteo that are ready for a model, in a folder of shards, mapped to be read: version 1 of
// a row folder, whose rows have one id a feature and one label. What `tessera preprocess` writes
// without a schema.
//
//   rows-00000.safetensors, …   tensors "dense" [n, D] f32, "ids" [n, F] i32 or i64, "labels" [n]
//                               f32; shards follow each other
//   index.json                  as row_folder_index.h, with "dense_columns": D and "features":
//                               [{"name", "rows"}, …]
//
// A feature's rows: of the smallest table that all its ids fit in, 0 where ids may be any.
#include <string>
#include <vector>

#include "data/files/row_folder_index.h"
#include "data/files/row_shard.h"
#include "data/files/row_writer.h"
#include "data/files/stored_rows.h"
#include "runtime/tensor.h"

namespace tessera {

// Throws Error, naming the file, for shards that do not fit the index, and for another version.
StoredParts MapRowFolder(const std::string& folder);

struct RowFolderOptions {
  int64_t dense_columns = 0;
  std::vector<CategoricalFeature> features;
  DType id_type = DType::kI32;
  int64_t shard_rows = 1 << 20;  // kept in memory until they are written
  std::vector<std::pair<std::string, std::string>> made = {};
};

class RowFolderWriter final : public RowWriter {
 public:
  // Makes the folder; rows that are whole in it stay until Finish. Throws Error when it can't.
  RowFolderWriter(const std::string& folder, const RowFolderOptions& options);

  void Append(const StoredRow& row) override;
  void Finish() override;

 private:
  void WriteShard();
  template <typename Id>
  Tensor Ids() const;

  Context ctx_;
  RowFolderOptions options_;
  RowFolderOutput output_;
  std::vector<float> dense_, labels_;  // of the shard under way
  std::vector<int64_t> ids_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_ROW_FOLDER_H_
