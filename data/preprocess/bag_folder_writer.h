#ifndef TESSERA_DATA_PREPROCESS_BAG_FOLDER_WRITER_H_
#define TESSERA_DATA_PREPROCESS_BAG_FOLDER_WRITER_H_
// Writes rows that were read by a schema as a row folder of version 2 (data/files/bag_folder.h). A
// shard is kept in memory until it is written.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/batch_builder.h"
#include "data/files/row_shard.h"
#include "data/rows/row_block.h"
#include "data/rows/row_rules.h"
#include "runtime/context.h"
#include "runtime/tensor.h"

namespace tessera {

struct BagFolderOptions {
  int64_t shard_rows = 1 << 20;            // most rows of a shard
  int64_t shard_bytes = int64_t{1} << 28;  // it ends with the row that reaches them
  std::vector<std::pair<std::string, std::string>> made = {};
};

class BagFolderWriter {
 public:
  // Makes the folder; rows that are whole in it stay until Finish. Throws Error when it can't.
  // REQUIRES: rules that were made for these features.
  BagFolderWriter(const std::string& folder, std::shared_ptr<const RowRules> rules,
                  const std::vector<CategoricalFeature>& features, const BagFolderOptions& options);

  // Throws Error when it can't be written. REQUIRES: a block of these rules.
  void Append(const RowBlock& block);
  // Makes what was written readable; without this call nothing of it is.
  void Finish();

 private:
  // Bags of one feature of the shard under way.
  struct Bags {
    std::string name;
    bool wide = false;  // ids are i64, not i32
    std::vector<int32_t> narrow_ids = {};
    std::vector<int64_t> wide_ids = {};
    std::vector<float> weights = {};
    std::vector<int32_t> offsets = {0};

    int64_t Append(const FeatureColumn& column, int64_t row);
    bool OneIdARow() const;
    Tensor Ids();
    void Clear();
  };
  void AppendRow(const RowBlock& block, int64_t row);
  void WriteShard();

  Context ctx_;
  std::shared_ptr<const RowRules> rules_;
  BagFolderOptions options_;
  RowFolderOutput output_;
  int64_t rows_ = 0, bytes_ = 0;  // of the shard under way
  std::vector<float> dense_, labels_, weight_;
  std::vector<int64_t> time_;
  std::vector<Bags> bags_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_PREPROCESS_BAG_FOLDER_WRITER_H_
