#include "cli/show/row_folder_summary.h"

#include <nlohmann/json.hpp>

#include "cli/show/bag_folder_summary.h"
#include "cli/show/numbers.h"
#include "data/files/row_folder.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

struct FoundRows {
  int64_t bytes = 0, clicks = 0;
};

// Every row is read, so that each piece is checked.
FoundRows ReadRows(const std::string& folder) {
  FoundRows found;
  const StoredParts parts = MapRowFolder(folder);
  for (const StoredRowsPart& part : parts.parts()) {
    for (const StoredColumns* columns : {&part.dense, &part.ids, &part.labels}) {
      found.bytes += columns->tensor.nbytes();
      columns->check->Check(0, columns->tensor.nbytes());
    }
    for (int64_t row = 0; row < part.rows(); ++row)
      found.clicks += StoredParts::Label(part, row) > 0;
  }
  return found;
}

double ClickRate(const FoundRows& found, const RowFolderIndex& index) {
  return static_cast<double>(found.clicks) / static_cast<double>(index.rows);
}

}  // namespace

std::string RowFolderText(const std::string& folder) {
  const RowFolderIndex index = ReadRowFolderIndex(folder);
  if (index.schema != nullptr) return BagFolderText(folder, index);
  const FoundRows found = ReadRows(folder);
  std::vector<std::vector<std::string>> table = {{"column", "rows of its table"}};
  for (const CategoricalFeature& f : index.features)
    table.push_back({f.name, f.rows > 0 ? Count(f.rows) : "any"});
  std::string text = TextTable(table) + "\n";
  text += Format("{} in {}, {}, checksums good\n", Counted(index.rows, "row"),
                 Counted(std::ssize(index.shards), "shard"), Bytes(found.bytes));
  text +=
      Format("{} and {} a row, {} % clicks\n", Counted(index.dense_columns, "number"),
             Counted(std::ssize(index.features), "id"), Fixed(100 * ClickRate(found, index), 1));
  for (const auto& [key, value] : index.made) text += Format("{}: {}\n", key, value);
  return text;
}

std::string RowFolderJson(const std::string& folder) {
  const RowFolderIndex index = ReadRowFolderIndex(folder);
  if (index.schema != nullptr) return BagFolderJson(folder, index);
  const FoundRows found = ReadRows(folder);
  nlohmann::ordered_json json = {{"rows", index.rows},
                                 {"shards", index.shards.size()},
                                 {"bytes", found.bytes},
                                 {"dense_columns", index.dense_columns},
                                 {"click_rate", ClickRate(found, index)}};
  for (const CategoricalFeature& f : index.features)
    json["features"].push_back({{"name", f.name}, {"rows", f.rows}});
  for (const auto& [key, value] : index.made) json["made"][key] = value;
  return json.dump(2) + "\n";
}

}  // namespace tessera::cli
