#ifndef TESSERA_DATA_FILES_ROW_FOLDER_INDEX_H_
#define TESSERA_DATA_FILES_ROW_FOLDER_INDEX_H_
// The index of a row folder of either version (row_folder.h, bag_folder.h):
//
//   index.json   {"format": "tessera rows", "version": 1 or 2, "rows": N, …, "made": {…},
//                 "shards": [{"file", "rows", "crc32": {tensor: digits}}, …]}
//
// made: how, for people to read. crc32: of each MiB of a tensor, 8 hexadecimal digits, one after
// the other; checked before the MiB is first used. index.json is written last, and its rename is
// the commit: a folder without it was never finished (row_shard.h).
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/batch_builder.h"
#include "data/schema/data_schema.h"

namespace tessera {

struct RowShard {
  std::string file = {};
  int64_t rows = 0;
  std::map<std::string, std::string> checksums = {};  // of each tensor
};

struct RowFolderIndex {
  int64_t rows = 0, dense_columns = 0;
  // Version 1: the rows of the smallest table that all ids fit in, 0 where ids may be any. Version
  // 2: the rows of the table that ids were taken modulo, 0 where they are raw.
  std::vector<CategoricalFeature> features = {};
  // How rows were read, with an entry for each feature; null in version 1.
  std::shared_ptr<const DataSchema> schema = {};
  std::vector<RowShard> shards = {};
  std::vector<std::pair<std::string, std::string>> made = {};

  int64_t version() const { return schema == nullptr ? 1 : 2; }
};

// The usual name of a shard's file, and whether a name is one.
std::string RowShardName(size_t shard);
bool IsRowShardName(std::string_view name);

// Whether the path is such a folder of some rows, finished or not, with all its shards or not.
bool IsRowFolder(const std::string& path);
// Whether the folder has an index, of whatever content.
bool HasRowFolderIndex(const std::string& folder);

// Throws Error, naming the file, for an index that is missing or does not say what was expected.
RowFolderIndex ReadRowFolderIndex(const std::string& folder);

// The commit. Throws Error when it can't be written.
void WriteRowFolderIndex(const std::string& folder, const RowFolderIndex& index);

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_ROW_FOLDER_INDEX_H_
