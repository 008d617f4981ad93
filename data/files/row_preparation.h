#ifndef TESSERA_DATA_FILES_ROW_PREPARATION_H_
#define TESSERA_DATA_FILES_ROW_PREPARATION_H_
// Says what was done to the values of Criteo's rows before a model reads them. Rows that were
// prepared otherwise mean other things by the same numbers, and must not meet in one model.
//
//   "text"      values of text as training reads it: of text itself, and of row folders with its
//               bits
//   "made up"   the same values, of rows that are made up
//   "dense as_is, missing zero, ids contiguous 0123456789abcdef"
//               what tessera preprocess did, of its row folders. The digits are a hash of which id
//               has which number: folders of other inputs number ids otherwise
//   ""          nobody knows: npy days, and row folders of older releases
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/batch_builder.h"

namespace tessera {

inline constexpr char kTextRows[] = "text", kMadeUpRows[] = "made up";

// The three things that are done, in the words of tessera preprocess.
struct RowPreparation {
  std::string dense = "log1p", missing = "own";
  std::string ids = "values";  // or steps, with ", " between: "contiguous HASH", "modulo 100"

  friend bool operator==(const RowPreparation&, const RowPreparation&) = default;
};

// Returns one of the texts above.
std::string ToString(const RowPreparation& preparation);

// Reads and writes what an index of a row folder says (RowFolderIndex::made); absent where it does
// not say so.
using MadePairs = std::vector<std::pair<std::string, std::string>>;
std::optional<RowPreparation> PreparationIn(const MadePairs& made);
void AddPreparation(const RowPreparation& preparation, MadePairs& made);

// How the rows at a path are prepared; absent where nobody knows.
std::optional<RowPreparation> PreparationOf(const std::string& path);

// How all these rows are prepared, for tables that read the features: ids modulo a multiple of
// their tables' rows are as good as the values. Throws Error for paths that differ. REQUIRES: rows
// of Criteo.
std::string PreparationOf(const std::vector<std::string>& paths,
                          const std::vector<CategoricalFeature>& features);

// Whether a model of the one rows may read the others, as far as anybody knows.
bool AreAlike(std::string_view one, std::string_view other);

// Whether such rows hold other values than text does.
bool IsPrepared(std::string_view preparation);

// For sentences: "the values of Criteo's text", "values that tessera preprocess changed (…)".
std::string PreparationText(std::string_view preparation);

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_ROW_PREPARATION_H_
