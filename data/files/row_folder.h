#ifndef TESSERA_DATA_FILES_ROW_FOLDER_H_
#define TESSERA_DATA_FILES_ROW_FOLDER_H_
// Rows that are ready for a model, in a folder of shards, mapped to be read. What `tessera
// preprocess` writes.
//
//   rows-00000.safetensors, …   tensors "dense" [n, D] f32, "ids" [n, F] i32 or i64, "labels" [n]
//                               f32; shards follow each other
//   index.json                  {"format": "tessera rows", "version": 1, "rows": N,
//                                "dense_columns": D, "features": [{"name", "rows"}, …], "made":
//                                {…}, "shards": [{"file", "rows", "crc32": {tensor: digits}}, …]}
//
// A feature's rows: of the smallest table that all its ids fit in, 0 where ids may be any. made:
// how, for people to read. crc32: of each MiB of a tensor, 8 hexadecimal digits, one after the
// other; checked before the MiB is first used. index.json is written last, and its rename is the
// commit: a folder without it was never finished.
#include <string>
#include <vector>

#include "data/files/row_writer.h"
#include "data/files/stored_rows.h"
#include "runtime/tensor.h"

namespace tessera {

struct RowShard {
  std::string file = {};
  int64_t rows = 0;
  std::string dense_checksums = {}, id_checksums = {}, label_checksums = {};
};

struct RowFolderIndex {
  int64_t rows = 0, dense_columns = 0;
  std::vector<CategoricalFeature> features = {};
  std::vector<RowShard> shards = {};
  std::vector<std::pair<std::string, std::string>> made = {};
};

// Whether the path is such a folder of some rows, finished or not.
bool IsRowFolder(const std::string& path);

// Throws Error, naming the file, for an index that is missing or does not say what was expected.
RowFolderIndex ReadRowFolderIndex(const std::string& folder);

// Throws Error, naming the file, for shards that do not fit the index.
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
  // Makes the folder; one that holds rows already loses them. Throws Error when it can't.
  RowFolderWriter(const std::string& folder, const RowFolderOptions& options);

  void Append(const StoredRow& row) override;
  void Finish() override;

 private:
  void WriteShard();
  template <typename Id>
  Tensor Ids() const;

  Context ctx_;
  std::string folder_;
  RowFolderOptions options_;
  RowFolderIndex index_;
  std::vector<float> dense_, labels_;  // of the shard under way
  std::vector<int64_t> ids_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_ROW_FOLDER_H_
