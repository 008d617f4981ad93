#include "data/files/row_folder.h"

namespace tessera {
namespace {

constexpr char kDenseName[] = "dense", kIdsName[] = "ids", kLabelsName[] = "labels";

StoredRowsPart MapShard(const std::string& folder, const RowShard& shard) {
  const MappedRowShard mapped(folder, shard);
  StoredRowsPart part{.name = mapped.path(),
                      .dense = mapped.Columns(kDenseName),
                      .ids = mapped.Columns(kIdsName),
                      .labels = mapped.Columns(kLabelsName)};
  if (part.dense.tensor.rank() != 2 || part.dense.tensor.dim(0) != shard.rows)
    throw Error(Format("{}: expected dense of {} rows, got {}", mapped.path(), shard.rows,
                       part.dense.tensor.shape()));
  return part;
}

}  // namespace

StoredParts MapRowFolder(const std::string& folder) {
  const RowFolderIndex index = ReadRowFolderIndex(folder);
  if (index.schema != nullptr)
    throw Error(
        Format("{}: its rows were read by a schema ({}): expected rows of the format criteo, or a "
               "configuration with that schema",
               folder, index.schema->format));
  std::vector<StoredRowsPart> parts;
  for (const RowShard& shard : index.shards) parts.push_back(MapShard(folder, shard));
  if (parts.empty()) throw Error(Format("{}: it holds no rows", folder));
  std::vector<std::string> columns;
  for (const CategoricalFeature& f : index.features) columns.push_back(f.name);
  return StoredParts(std::move(parts), std::move(columns));
}

// ---- writing

RowFolderWriter::RowFolderWriter(const std::string& folder, const RowFolderOptions& options)
    : ctx_({.threads = 1}), options_(options), output_(folder) {
  TESSERA_CHECK_GT(options.shard_rows, 0, "rows of a shard");
  output_.index().dense_columns = options.dense_columns;
  output_.index().features = options.features;
  output_.index().made = options.made;
}

void RowFolderWriter::Append(const StoredRow& row) {
  dense_.insert(dense_.end(), row.dense.begin(), row.dense.end());
  ids_.insert(ids_.end(), row.ids.begin(), row.ids.end());
  labels_.push_back(row.label);
  if (static_cast<int64_t>(labels_.size()) == options_.shard_rows) WriteShard();
}

template <typename Id>
Tensor RowFolderWriter::Ids() const {
  const Tensor ids = Tensor::EmptyHost(
      {static_cast<int64_t>(labels_.size()), static_cast<int64_t>(options_.features.size())},
      DTypeOf<Id>::value);
  for (size_t i = 0; i < ids_.size(); ++i) ids.data<Id>()[i] = static_cast<Id>(ids_[i]);
  return ids;
}

void RowFolderWriter::WriteShard() {
  const auto rows = static_cast<int64_t>(labels_.size());
  const Tensor ids = options_.id_type == DType::kI32 ? Ids<int32_t>() : Ids<int64_t>();
  output_.WriteShard(
      ctx_, rows,
      {{kDenseName, Tensor::Borrow(dense_.data(), {rows, options_.dense_columns}, DType::kF32)},
       {kIdsName, ids},
       {kLabelsName, Tensor::Borrow(labels_.data(), {rows}, DType::kF32)}});
  dense_.clear();
  ids_.clear();
  labels_.clear();
}

void RowFolderWriter::Finish() {
  if (!labels_.empty()) WriteShard();
  output_.Commit();
}

}  // namespace tessera
