#include "cli/show/bag_folder_summary.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "cli/show/numbers.h"
#include "data/files/bag_folder.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::cli {
namespace {

constexpr int64_t kRows = 4096;  // that are read at a time

struct LabelSums {
  int64_t known = 0, missing = 0;
  double sum = 0;

  double mean() const { return sum / static_cast<double>(known); }
};

struct FoundBags {
  int64_t bytes = 0;
  std::vector<int64_t> ids;  // of each feature
  std::vector<LabelSums> labels;
};

int64_t CheckedBytesOf(const StoredColumns& columns) {
  if (!columns.tensor) return 0;
  columns.check->Check(0, columns.tensor.nbytes());
  return columns.tensor.nbytes();
}

int64_t CheckedBytesOf(const BagPart& part) {
  int64_t bytes = 0;
  for (const StoredColumns* columns :
       {&part.dense.stored, &part.labels.stored, &part.weight, &part.time})
    bytes += CheckedBytesOf(*columns);
  for (const BagColumn& column : part.bags)
    for (const StoredColumns* columns : {&column.ids, &column.offsets, &column.weights})
      bytes += CheckedBytesOf(*columns);
  return bytes;
}

void AddBatch(const Batch& batch, FoundBags& found) {
  const auto& per_key = batch.features.length_per_key();
  for (size_t f = 0; f < found.ids.size(); ++f) found.ids[f] += per_key[f];
  const size_t labels = found.labels.size();
  if (labels == 0) return;
  const auto values = batch.labels.span<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    LabelSums& sums = found.labels[i % labels];
    if (std::isnan(values[i])) {
      ++sums.missing;
    } else {
      ++sums.known;
      sums.sum += values[i];
    }
  }
}

FoundBags ReadBags(const std::string& folder, const RowFolderIndex& index) {
  Context ctx({.threads = 1});
  const StoredBags rows = MapBagFolders({folder}, *index.schema, index.features);
  FoundBags found{.ids = std::vector<int64_t>(index.features.size()),
                  .labels = std::vector<LabelSums>(index.schema->labels.size())};
  for (const BagPart& part : rows.parts()) found.bytes += CheckedBytesOf(part);
  for (int64_t begin = 0; begin < rows.rows(); begin += kRows) {
    std::vector<int64_t> some(static_cast<size_t>(std::min(kRows, rows.rows() - begin)));
    std::iota(some.begin(), some.end(), begin);
    Batch batch = rows.Gather(ctx, some);
    batch.features.Sync(ctx);
    AddBatch(batch, found);
  }
  return found;
}

std::string FeatureTable(const RowFolderIndex& index, const FoundBags& found) {
  std::vector<std::vector<std::string>> table = {{"feature", "rows of its table", "ids a row"}};
  for (size_t f = 0; f < index.features.size(); ++f) {
    const CategoricalFeature& feature = index.features[f];
    const double a_row = static_cast<double>(found.ids[f]) / static_cast<double>(index.rows);
    table.push_back(
        {feature.name, feature.rows > 0 ? Count(feature.rows) : "any", Fixed(a_row, 2)});
  }
  return TextTable(table);
}

std::string LabelTable(const DataSchema& schema, const FoundBags& found) {
  std::vector<std::vector<std::string>> table = {{"label", "mean", "missing"}};
  for (size_t l = 0; l < schema.labels.size(); ++l)
    table.push_back(
        {schema.labels[l].name, Fixed(found.labels[l].mean(), 4), Count(found.labels[l].missing)});
  return schema.labels.empty() ? "" : TextTable(table);
}

}  // namespace

std::string BagFolderText(const std::string& folder, const RowFolderIndex& index) {
  const FoundBags found = ReadBags(folder, index);
  const DataSchema& schema = *index.schema;
  std::string text = FeatureTable(index, found) + "\n";
  if (!schema.labels.empty()) text += LabelTable(schema, found) + "\n";
  text += Format("{} in {}, {}, checksums good\n", Counted(index.rows, "row"),
                 Counted(std::ssize(index.shards), "shard"), Bytes(found.bytes));
  text += Format(
      "read by a schema of {}: {}, {}, {} a row{}{}\n", ToString(schema.format),
      Counted(index.dense_columns, "number"), Counted(std::ssize(index.features), "feature"),
      Counted(std::ssize(schema.labels), "label"), schema.weight.empty() ? "" : ", weights of rows",
      schema.time.empty() ? "" : ", times");
  for (const auto& [key, value] : index.made) text += Format("{}: {}\n", key, value);
  return text;
}

std::string BagFolderJson(const std::string& folder, const RowFolderIndex& index) {
  const FoundBags found = ReadBags(folder, index);
  const DataSchema& schema = *index.schema;
  nlohmann::ordered_json json = {
      {"version", index.version()},        {"rows", index.rows},
      {"shards", index.shards.size()},     {"bytes", found.bytes},
      {"format", ToString(schema.format)}, {"dense_columns", index.dense_columns}};
  for (size_t f = 0; f < index.features.size(); ++f)
    json["features"].push_back({{"name", index.features[f].name},
                                {"rows", index.features[f].rows},
                                {"ids", found.ids[f]},
                                {"weighted", schema.Feature(index.features[f].name).weighted()}});
  for (size_t l = 0; l < schema.labels.size(); ++l)
    json["labels"].push_back({{"name", schema.labels[l].name},
                              {"mean", found.labels[l].mean()},
                              {"missing", found.labels[l].missing}});
  json["weight"] = !schema.weight.empty();
  json["time"] = !schema.time.empty();
  for (const auto& [key, value] : index.made) json["made"][key] = value;
  return json.dump(2) + "\n";
}

}  // namespace tessera::cli
