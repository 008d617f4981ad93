#include "data/files/npy_rows.h"

#include "runtime/files/files.h"

namespace tessera {
namespace {

constexpr const char* kNpyEnds[] = {"_dense.npy", "_sparse.npy", "_labels.npy"};

std::string NameOf(const std::string& path) {
  for (const std::string end : kNpyEnds)
    if (path.ends_with(end)) return path.substr(0, path.size() - end.size());
  return path;
}

StoredRowsPart MapDay(const NpyDay& day) {
  return {.name = day.dense,
          .dense = {MapNpy(day.dense), nullptr},
          .ids = {MapNpy(day.sparse), nullptr},
          .labels = {MapNpy(day.labels), nullptr},
          .ids_name = day.sparse,
          .labels_name = day.labels};
}

}  // namespace

std::optional<NpyDay> FindNpyDay(const std::string& path) {
  const std::string name = NameOf(path);
  const NpyDay day{name + kNpyEnds[0], name + kNpyEnds[1], name + kNpyEnds[2]};
  const bool named = name != path;
  int there = 0;
  std::string missing;
  for (const std::string& file : {day.dense, day.sparse, day.labels}) {
    if (IsThere(file))
      ++there;
    else
      missing = file;
  }
  if (there == 0 && !named) return std::nullopt;
  if (there < 3) throw Error(Format("{}: cannot be read: {} is not there", path, missing));
  return day;
}

StoredParts MapNpyDays(const std::vector<NpyDay>& days) {
  std::vector<StoredRowsPart> parts;
  for (const NpyDay& day : days) parts.push_back(MapDay(day));
  std::vector<std::string> columns;
  if (!parts.empty() && parts[0].ids.tensor.rank() == 2)
    for (int i = 0; i < parts[0].ids.tensor.dim(1); ++i) columns.push_back(CategoryName(i));
  return StoredParts(std::move(parts), std::move(columns));
}

RowRange ValidationHalf(int64_t rows) { return {0, rows - rows / 2}; }
RowRange TestHalf(int64_t rows) { return {rows - rows / 2, rows}; }

NpyDayWriter::NpyDayWriter(const std::string& name, int64_t dense_columns, int64_t id_columns,
                           DType id_type)
    : dense_(name + kNpyEnds[0], DType::kF32, dense_columns),
      sparse_(name + kNpyEnds[1], id_type, id_columns),
      labels_(name + kNpyEnds[2], DType::kI32, 1),
      id_type_(id_type),
      narrow_(static_cast<size_t>(id_columns)) {}

void NpyDayWriter::Append(const StoredRow& row) {
  dense_.Append(row.dense.data());
  for (size_t i = 0; i < narrow_.size(); ++i) narrow_[i] = static_cast<int32_t>(row.ids[i]);
  sparse_.Append(id_type_ == DType::kI32 ? static_cast<const void*>(narrow_.data())
                                         : row.ids.data());
  const auto label = static_cast<int32_t>(row.label);
  labels_.Append(&label);
}

void NpyDayWriter::Prepare() {
  dense_.Prepare();
  sparse_.Prepare();
  labels_.Prepare();
}

void NpyDayWriter::Finish() {
  dense_.Finish();
  sparse_.Finish();
  labels_.Finish();
}

}  // namespace tessera
