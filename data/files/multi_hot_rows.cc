#include "data/files/multi_hot_rows.h"

#include <algorithm>

#include "data/files/npy.h"
#include "data/files/npz.h"
#include "runtime/files/files.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

constexpr const char* kMultiHotEnds[] = {"_dense.npy", "_labels.npy", "_sparse_multi_hot.npz"};

bool IsNumber(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
}

}  // namespace

// ---- files

std::vector<std::string> MultiHotFiles(const std::string& day) {
  std::vector<std::string> files;
  for (const char* end : kMultiHotEnds) files.push_back(day + end);
  return files;
}

std::optional<std::string> FindMultiHotDay(const std::string& path) {
  std::string day = path;
  for (const std::string end : kMultiHotEnds)
    if (path.ends_with(end)) day = path.substr(0, path.size() - end.size());
  const std::vector<std::string> files = MultiHotFiles(day);
  if (!IsThere(files[2])) return std::nullopt;
  for (const std::string& file : files)
    if (!IsThere(file)) throw Error(Format("{}: cannot be read: {} is not there", path, file));
  return day;
}

std::vector<std::string> MultiHotDays(const std::vector<std::string>& paths) {
  std::vector<std::string> days;
  for (const std::string& path : paths) {
    const std::optional<std::string> day = FindMultiHotDay(path);
    if (!day)
      throw Error(Format("{}: expected a day, whose files are NAME{}, NAME{} and NAME{}", path,
                         kMultiHotEnds[0], kMultiHotEnds[1], kMultiHotEnds[2]));
    if (std::find(days.begin(), days.end(), *day) == days.end()) days.push_back(*day);
  }
  return days;
}

// ---- a day

namespace {

struct Feature {
  BagFeature feature;
  std::string array;  // in the archive, as a feature's name
};

// The arrays of the features, in their order.
std::vector<BagColumn> MapArrays(const std::string& path, const std::vector<Feature>& features) {
  const NpzFile archive(path);
  std::string known;
  std::vector<std::pair<std::string, std::string>> arrays;  // feature's name, array's
  for (const std::string& array : archive.names()) {
    arrays.emplace_back(IsNumber(array) ? "cat_" + array : array, array);
    known += (known.empty() ? "" : ", ") + arrays.back().first;
  }
  std::vector<BagColumn> columns;
  for (const Feature& feature : features) {
    const auto found = std::find_if(arrays.begin(), arrays.end(),
                                    [&](const auto& a) { return a.first == feature.array; });
    if (found == arrays.end())
      throw Error(Format("{}: there is no array '{}' for feature '{}'; there are {}", path,
                         feature.array, feature.feature.name, known));
    columns.push_back({.ids = {archive.Array(found->second), nullptr}});
  }
  return columns;
}

void Check(bool good, const std::string& file, const std::string& expected, const Tensor& got) {
  if (!good)
    throw Error(Format("{}: expected {}, got {} of {}", file, expected, got.shape(), got.dtype()));
}

void CheckArrays(const std::string& path, const std::vector<Feature>& features,
                 const BagPart& day) {
  for (size_t f = 0; f < features.size(); ++f) {
    const Tensor& ids = day.bags[f].ids.tensor;
    const std::string file = Format("{}: feature '{}'", path, features[f].feature.name);
    Check(ids.rank() == 1 || ids.rank() == 2, file, "ids [rows] or [rows, ids]", ids);
    Check(ids.dtype() == DType::kI32 || ids.dtype() == DType::kI64, file, "i32 or i64", ids);
    if (ids.dim(0) != day.rows)
      throw Error(Format("{}: expected {} rows, got {}", file, day.rows, ids.dim(0)));
  }
}

BagPart MapDay(const std::string& name, const std::vector<Feature>& features) {
  const std::vector<std::string> files = MultiHotFiles(name);
  const Tensor dense = MapNpy(files[0]), labels = MapNpy(files[1]);
  BagPart day{.name = name, .bags = MapArrays(files[2], features)};
  Check(dense.rank() == 2, files[0], "numbers [rows, columns]", dense);
  day.rows = dense.dim(0);
  Check((labels.rank() == 1 || labels.rank() == 2) && labels.dim(0) == day.rows, files[1],
        Format("{} rows", day.rows), labels);
  CheckArrays(files[2], features, day);
  day.dense = NumberColumns::AllOf({dense, nullptr});
  day.labels = NumberColumns::AllOf({labels, nullptr});
  day.dense.unchecked_file = files[0];
  day.labels.unchecked_file = files[1];
  return day;
}

void CheckWidths(const BagPart& day, const BagPart& first, const DataSchema& schema) {
  const std::vector<std::string> files = MultiHotFiles(day.name);
  const Tensor &dense = day.dense.stored.tensor, &labels = day.labels.stored.tensor;
  Check(day.dense.width() == first.dense.width(), files[0],
        Format("{} numbers a row, as in {}", first.dense.width(), first.name), dense);
  Check(day.labels.width() == first.labels.width(), files[1],
        Format("{} labels a row, as in {}", first.labels.width(), first.name), labels);
  Check(schema.dense.empty() || schema.dense_size() == day.dense.width(), files[0],
        Format("{} numbers a row, those of data.dense", schema.dense_size()), dense);
  Check(schema.labels.empty() || std::ssize(schema.labels) == day.labels.width(), files[1],
        Format("{} labels a row, those of data.labels", schema.labels.size()), labels);
}

}  // namespace

StoredBags MapMultiHotDays(const std::vector<std::string>& days, const DataSchema& schema,
                           const std::vector<CategoricalFeature>& features) {
  std::vector<Feature> read;
  std::vector<BagFeature> bags;
  std::vector<std::string> names;
  for (const CategoricalFeature& feature : features) {
    const FeatureEntry entry = schema.Feature(feature.name);
    bags.push_back({.name = feature.name,
                    .rows = CheckedHashSize(feature),
                    .shift = entry.missing == MissingFeature::kRow0 ? 1 : 0,
                    .counts_unknown = !feature.raw});
    read.push_back({bags.back(), entry.from});
    names.push_back(feature.name);
  }
  schema.CheckFeaturesRead(names);
  std::vector<BagPart> parts;
  for (const std::string& day : days) {
    parts.push_back(MapDay(day, read));
    CheckWidths(parts.back(), parts.front(), schema);
  }
  return StoredBags(std::move(bags), std::move(parts));
}

}  // namespace tessera
