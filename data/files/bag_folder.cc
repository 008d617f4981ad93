#include "data/files/bag_folder.h"

#include <algorithm>

#include "data/files/row_folder_index.h"
#include "data/files/row_shard.h"
#include "data/schema/schema_match.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

using ColumnRanges = std::vector<std::pair<int64_t, int64_t>>;

// The columns that are read of the shards of one folder.
struct Picked {
  int64_t dense_columns = 0, label_columns = 0;  // of the shards
  ColumnRanges dense = {}, labels = {};
};

void AddRange(int64_t begin, int64_t end, ColumnRanges& ranges) {
  if (!ranges.empty() && ranges.back().second == begin)
    ranges.back().second = end;
  else
    ranges.emplace_back(begin, end);
}

// REQUIRES: every wanted entry is there.
Picked PickedOf(const DataSchema& written, const DataSchema& wanted) {
  Picked picked{.dense_columns = written.dense_size(), .label_columns = std::ssize(written.labels)};
  for (const DenseEntry& entry : wanted.dense) {
    int64_t begin = 0;
    for (auto e = written.dense.begin(); e->name != entry.name; ++e) begin += e->size;
    AddRange(begin, begin + entry.size, picked.dense);
  }
  for (const LabelEntry& entry : wanted.labels) {
    int64_t begin = 0;
    for (auto e = written.labels.begin(); e->name != entry.name; ++e) ++begin;
    AddRange(begin, begin + 1, picked.labels);
  }
  return picked;
}

// Ids modulo R tell those modulo a divisor of R as well.
void CheckTables(const RowFolderIndex& index, const std::vector<CategoricalFeature>& features,
                 const std::string& folder) {
  for (const CategoricalFeature& feature : features) {
    const auto written = std::find_if(index.features.begin(), index.features.end(),
                                      [&](const auto& f) { return f.name == feature.name; });
    if (written == index.features.end())
      throw Error(Format("{}: feature '{}': the index says no rows of it", folder, feature.name));
    const int64_t rows = CheckedHashSize(feature), had = written->rows;
    if (rows == had || (rows > 0 && had > 0 && had % rows == 0)) continue;
    const auto shown = [](int64_t n) {
      return n == 0 ? "raw ids" : Format("a table of {} rows", n);
    };
    throw Error(
        Format("{}: feature '{}': its ids were written for {}, but are read for {}: expected {}, "
               "or preprocess the text again",
               folder, feature.name, shown(had), shown(rows),
               had == 0 ? "raw ids" : Format("rows that divide {}", had)));
  }
}

BagColumn MapBags(const MappedRowShard& shard, const FeatureEntry& entry) {
  const std::string ids = bag_folder::kIds + entry.name;
  const std::string offsets = bag_folder::kOffsets + entry.name;
  BagColumn column{.ids = shard.Columns(ids)};
  const Tensor& tensor = column.ids.tensor;
  const bool type_fits = tensor.dtype() == DType::kI32 || tensor.dtype() == DType::kI64;
  if (tensor.rank() != 1 || !type_fits)
    throw Error(Format("{}: tensor '{}': expected ids of i32 or i64, got {} of {}", shard.path(),
                       ids, tensor.shape(), tensor.dtype()));
  if (shard.Has(offsets))
    column.offsets = shard.Columns(offsets, DType::kI32, {shard.rows() + 1});
  else if (tensor.dim(0) != shard.rows())
    throw Error(
        Format("{}: tensor '{}': expected {} ids, one a row, as there are no offsets, got {}",
               shard.path(), ids, shard.rows(), tensor.dim(0)));
  if (entry.weighted())
    column.weights = shard.Columns(bag_folder::kWeights + entry.name, DType::kF32, {tensor.dim(0)});
  return column;
}

BagPart MapShard(const MappedRowShard& shard, const Picked& picked, const DataSchema& schema,
                 const std::vector<CategoricalFeature>& features) {
  const int64_t rows = shard.rows();
  BagPart part{.name = shard.path(), .rows = rows};
  part.dense = {shard.Columns(bag_folder::kDense, DType::kF32, {rows, picked.dense_columns}),
                picked.dense};
  if (!picked.labels.empty())
    part.labels = {shard.Columns(bag_folder::kLabels, DType::kF32, {rows, picked.label_columns}),
                   picked.labels};
  if (!schema.weight.empty()) part.weight = shard.Columns(bag_folder::kWeight, DType::kF32, {rows});
  if (!schema.time.empty()) part.time = shard.Columns(bag_folder::kTime, DType::kI64, {rows});
  for (const CategoricalFeature& feature : features)
    part.bags.push_back(MapBags(shard, schema.Feature(feature.name)));
  return part;
}

}  // namespace

StoredBags MapBagFolders(const std::vector<std::string>& folders, const DataSchema& schema,
                         const std::vector<CategoricalFeature>& features) {
  std::vector<BagFeature> bags;
  std::vector<std::string> names;
  for (const CategoricalFeature& feature : features) {
    const bool is_row = !feature.raw && schema.Feature(feature.name).ids == IdKind::kInt;
    bags.push_back(
        {.name = feature.name, .rows = CheckedHashSize(feature), .counts_unknown = is_row});
    names.push_back(feature.name);
  }
  std::vector<BagPart> parts;
  for (const std::string& folder : folders) {
    const RowFolderIndex index = ReadRowFolderIndex(folder);
    if (index.schema == nullptr)
      throw Error(Format(
          "{}: its rows are Criteo's (version 1): expected rows of the format {}, or a folder "
          "that tessera preprocess --config made of them",
          folder, schema.format));
    CheckSchemaMatches(*index.schema, schema, names, folder);
    CheckTables(index, features, folder);
    const Picked picked = PickedOf(*index.schema, schema);
    for (const RowShard& shard : index.shards)
      parts.push_back(MapShard(MappedRowShard(folder, shard), picked, schema, features));
  }
  if (parts.empty()) throw Error(Format("{}: it holds no rows", folders.front()));
  return StoredBags(std::move(bags), std::move(parts));
}

}  // namespace tessera
