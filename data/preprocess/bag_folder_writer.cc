#include "data/preprocess/bag_folder_writer.h"

#include <algorithm>
#include <limits>
#include <map>

#include "data/files/bag_folder.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

// Offsets are i32: a shard of so many bytes has fewer ids.
constexpr int64_t kMaxShardBytes = int64_t{1} << 32;

// Adds the `width` elements of a row.
template <typename T>
void AddRow(const std::vector<T>& from, int64_t row, int64_t width, std::vector<T>& to) {
  const auto first = from.begin() + row * width;
  to.insert(to.end(), first, first + width);
}

template <typename T>
Tensor Borrowed(std::vector<T>& elements, const Shape& shape) {
  return Tensor::Borrow(elements.data(), shape, DTypeOf<T>::value);
}

// The schema with an entry for each feature that tables read.
DataSchema Spelled(DataSchema schema, const std::vector<CategoricalFeature>& features) {
  std::vector<FeatureEntry> entries;
  for (const CategoricalFeature& feature : features)
    entries.push_back(schema.Feature(feature.name));
  schema.features = std::move(entries);
  return schema;
}

}  // namespace

// ---- bags

// Returns how many ids came.
int64_t BagFolderWriter::Bags::Append(const FeatureColumn& column, int64_t row) {
  const int64_t begin = column.begin(row), end = column.ends[static_cast<size_t>(row)];
  const auto ids = column.ids.begin();
  if (wide)
    wide_ids.insert(wide_ids.end(), ids + begin, ids + end);
  else
    std::transform(ids + begin, ids + end, std::back_inserter(narrow_ids),
                   [](int64_t id) { return static_cast<int32_t>(id); });
  if (!column.weights.empty())
    weights.insert(weights.end(), column.weights.begin() + begin, column.weights.begin() + end);
  offsets.push_back(offsets.back() + static_cast<int32_t>(end - begin));
  return end - begin;
}

bool BagFolderWriter::Bags::OneIdARow() const {
  for (size_t row = 0; row < offsets.size(); ++row)
    if (offsets[row] != static_cast<int32_t>(row)) return false;
  return true;
}

Tensor BagFolderWriter::Bags::Ids() {
  const Shape shape{offsets.back()};
  return wide ? Borrowed(wide_ids, shape) : Borrowed(narrow_ids, shape);
}

void BagFolderWriter::Bags::Clear() {
  narrow_ids.clear();
  wide_ids.clear();
  weights.clear();
  offsets.resize(1);
}

// ---- rows

BagFolderWriter::BagFolderWriter(const std::string& folder, std::shared_ptr<const RowRules> rules,
                                 const std::vector<CategoricalFeature>& features,
                                 const BagFolderOptions& options)
    : ctx_({.threads = 1}), rules_(std::move(rules)), options_(options), output_(folder) {
  TESSERA_CHECK_GT(options.shard_rows, 0, "rows of a shard");
  TESSERA_CHECK_GT(options.shard_bytes, 0, "bytes of a shard");
  options_.shard_bytes = std::min(options.shard_bytes, kMaxShardBytes);
  RowFolderIndex& index = output_.index();
  index.schema = std::make_shared<const DataSchema>(Spelled(rules_->schema(), features));
  index.dense_columns = index.schema->dense_size();
  index.made = options.made;
  for (const CategoricalFeature& feature : features) {
    const int64_t rows = CheckedHashSize(feature);
    index.features.push_back({feature.name, rows, rows == 0});
    bags_.push_back(
        {.name = feature.name, .wide = rows == 0 || rows > std::numeric_limits<int32_t>::max()});
  }
}

void BagFolderWriter::AppendRow(const RowBlock& block, int64_t row) {
  const RowColumns& layout = rules_->layout();
  AddRow(block.dense, row, layout.dense, dense_);
  AddRow(block.labels, row, layout.labels, labels_);
  if (layout.has_weight) AddRow(block.weight, row, 1, weight_);
  if (layout.has_time) AddRow(block.time, row, 1, time_);
  bytes_ += (layout.dense + layout.labels) * int64_t{sizeof(float)};
  for (size_t f = 0; f < bags_.size(); ++f) {
    Bags& bags = bags_[f];
    const int64_t ids = bags.Append(block.features[f], row);
    bytes_ += int64_t{sizeof(int32_t)} + ids * (bags.wide ? 8 : 4);
    if (rules_->features()[f].entry.weighted()) bytes_ += ids * int64_t{sizeof(float)};
  }
  ++rows_;
}

void BagFolderWriter::Append(const RowBlock& block) {
  for (int64_t row = 0; row < block.rows(); ++row) {
    AppendRow(block, row);
    if (rows_ == options_.shard_rows || bytes_ >= options_.shard_bytes) WriteShard();
  }
}

void BagFolderWriter::WriteShard() {
  const RowColumns& layout = rules_->layout();
  std::map<std::string, Tensor> tensors;
  tensors[bag_folder::kDense] = Borrowed(dense_, {rows_, layout.dense});
  if (layout.labels > 0) tensors[bag_folder::kLabels] = Borrowed(labels_, {rows_, layout.labels});
  if (layout.has_weight) tensors[bag_folder::kWeight] = Borrowed(weight_, {rows_});
  if (layout.has_time) tensors[bag_folder::kTime] = Borrowed(time_, {rows_});
  for (size_t f = 0; f < bags_.size(); ++f) {
    Bags& bags = bags_[f];
    tensors[bag_folder::kIds + bags.name] = bags.Ids();
    if (!bags.OneIdARow())
      tensors[bag_folder::kOffsets + bags.name] = Borrowed(bags.offsets, {rows_ + 1});
    if (rules_->features()[f].entry.weighted())
      tensors[bag_folder::kWeights + bags.name] = Borrowed(bags.weights, {bags.offsets.back()});
  }
  output_.WriteShard(ctx_, rows_, std::move(tensors));
  rows_ = bytes_ = 0;
  dense_.clear();
  labels_.clear();
  weight_.clear();
  time_.clear();
  for (Bags& bags : bags_) bags.Clear();
}

void BagFolderWriter::Finish() {
  if (rows_ > 0) WriteShard();
  output_.Commit();
}

}  // namespace tessera
