#include "data/files/row_preparation.h"

#include <algorithm>
#include <sstream>

#include "data/files/data_files.h"
#include "data/files/row_folder_index.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr char kDense[] = "dense", kMissing[] = "missing", kIds[] = "ids", kModulo[] = "modulo ";

const std::string* Find(const MadePairs& made, std::string_view key) {
  const auto found = std::ranges::find(made, key, &MadePairs::value_type::first);
  return found == made.end() ? nullptr : &found->second;
}

// The numbers of "modulo 100" and "modulo 100 200"; none for other ids.
std::vector<int64_t> SizesOf(const std::string& ids) {
  if (!ids.starts_with(kModulo) || ids.find(',') != ids.npos) return {};
  std::istringstream words(ids.substr(sizeof(kModulo) - 1));
  std::vector<int64_t> sizes;
  for (int64_t size = 0; words >> size;) sizes.push_back(size);
  return sizes;
}

bool DivideAll(const std::vector<CategoricalFeature>& features, const std::vector<int64_t>& sizes) {
  return std::ranges::all_of(features, [&](const CategoricalFeature& feature) {
    const int64_t rows = CheckedHashSize(feature);
    const auto column = static_cast<size_t>(sizes.size() == 1 ? 0 : CategoryColumn(feature.name));
    return rows > 0 && column < sizes.size() && sizes[column] % rows == 0;
  });
}

std::string Shown(RowPreparation preparation, const std::vector<CategoricalFeature>& features) {
  const std::vector<int64_t> sizes = SizesOf(preparation.ids);
  if (!sizes.empty() && DivideAll(features, sizes)) preparation.ids = RowPreparation().ids;
  return ToString(preparation);
}

}  // namespace

std::string ToString(const RowPreparation& preparation) {
  if (preparation == RowPreparation()) return kTextRows;
  return Format("{} {}, {} {}, {} {}", kDense, preparation.dense, kMissing, preparation.missing,
                kIds, preparation.ids);
}

std::optional<RowPreparation> PreparationIn(const MadePairs& made) {
  const std::string *dense = Find(made, kDense), *missing = Find(made, kMissing),
                    *ids = Find(made, kIds);
  if (dense == nullptr || missing == nullptr || ids == nullptr) return {};
  return RowPreparation{*dense, *missing, *ids};
}

void AddPreparation(const RowPreparation& preparation, MadePairs& made) {
  made.emplace_back(kDense, preparation.dense);
  made.emplace_back(kMissing, preparation.missing);
  made.emplace_back(kIds, preparation.ids);
}

std::optional<RowPreparation> PreparationOf(const std::string& path) {
  switch (LayoutOfFile(path)) {
    case FileLayout::kText:
      return RowPreparation();
    case FileLayout::kNpy:
      return {};
    case FileLayout::kFolder:
      return PreparationIn(ReadRowFolderIndex(path).made);
  }
  TESSERA_FAIL("{}: no layout", path);
}

std::string PreparationOf(const std::vector<std::string>& paths,
                          const std::vector<CategoricalFeature>& features) {
  std::string all;
  for (const std::string& path : paths) {
    const auto found = PreparationOf(path);
    if (!found) return "";
    const std::string shown = Shown(*found, features);
    if (path == paths.front()) all = shown;
    if (shown != all)
      throw Error(Format("{}: it holds {}, but {} holds {}: give rows that were prepared alike",
                         path, PreparationText(shown), paths.front(), PreparationText(all)));
  }
  return all;
}

bool AreAlike(std::string_view one, std::string_view other) {
  return one.empty() || other.empty() || one == other || (!IsPrepared(one) && !IsPrepared(other));
}

bool IsPrepared(std::string_view preparation) {
  return !preparation.empty() && preparation != kTextRows && preparation != kMadeUpRows;
}

std::string PreparationText(std::string_view preparation) {
  if (preparation == kTextRows) return "the values of Criteo's text";
  if (preparation == kMadeUpRows) return "made-up rows, with the values of text";
  return Format("values that tessera preprocess changed ({})", preparation);
}

}  // namespace tessera
