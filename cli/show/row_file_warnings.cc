#include "cli/show/row_file_warnings.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "cli/show/log.h"
#include "data/files/data_identity.h"
#include "data/files/expand_paths.h"
#include "data/rows/line_cells.h"
#include "data/rows/text_pieces.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/base/nearest.h"
#include "runtime/base/report_text.h"
#include "runtime/json/json_reader.h"

namespace tessera::cli {
namespace {

// Returns what tells the rows of a path; nullopt for an empty file, a pipe, and what cannot be
// read: whoever reads it says so.
std::optional<PathIdentity> Fingerprint(const std::string& path) {
  try {
    PathIdentity identity = IdentityOf({path}, {}).paths.front();
    if (identity.bytes > 0) return identity;
  } catch (const std::exception&) {
  }
  return {};
}

// Keys of the first rows of a file of JSON lines.
struct FirstKeys {
  std::set<std::string> keys = {};
  int64_t rows = 0;  // that are objects; others are refused by who reads them
};

// Skips a line that is no JSON object: whoever reads the rows refuses it.
void AddKeys(std::string_view line, FirstKeys& first) {
  try {
    const internal::Json row = internal::ReadJsonText(line, {.depth = 1024});
    if (!row.is_object()) return;
    ++first.rows;
    for (const auto& [key, value] : row.items()) first.keys.insert(key);
  } catch (const Error&) {
  }
}

FirstKeys ReadFirstKeys(const std::string& path) {
  constexpr int64_t kRows = 1000;
  FirstKeys first;
  TextPiece piece;
  TextPieces({path}).Next(piece);
  std::string_view text = piece.text;
  for (int64_t line = 0; line < std::min(piece.lines, kRows); ++line) {
    AddKeys(TakeLine(text), first);
  }
  return first;
}

// Cells that no row may lack: who reads it says so.
std::set<size_t> CellsThatAreThere(const RowRules& rules) {
  std::set<size_t> cells;
  for (const DenseRule& dense : rules.dense())
    if (!dense.entry().missing) cells.insert(dense.cell());
  for (const FeatureRule& feature : rules.features())
    if (feature.entry.missing == MissingFeature::kError) cells.insert(feature.cell);
  for (const LabelRule& label : rules.labels())
    if (label.entry.missing == LabelEntry::Missing::kError) cells.insert(label.cell);
  if (rules.time()) cells.insert(*rules.time());
  return cells;
}

// Names in quotes, at most eight of them.
std::string SomeNames(const std::vector<std::string>& names) {
  constexpr size_t kMaxNames = 8;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), kMaxNames); ++i)
    shown.push_back("\"" + names[i] + "\"");
  const size_t more = names.size() - shown.size();
  return internal::Joined(shown) + (more > 0 ? Format(" and {} more", more) : "");
}

}  // namespace

void WarnOfRepeatedFiles(const std::vector<std::string>& paths, const std::string& and_so) {
  std::map<std::filesystem::path, int64_t> times;
  std::map<std::tuple<int64_t, uint64_t, uint64_t>, std::string> first;  // of a fingerprint
  const std::vector<std::string> files = ExpandPaths(paths);
  const auto times_of = [&](const std::string& file) -> int64_t& {
    std::error_code error;  // of a file that cannot be read, which what reads it says
    return times[std::filesystem::weakly_canonical(file, error)];
  };
  for (const std::string& file : files) ++times_of(file);
  for (const std::string& file : files) {
    const int64_t found = std::exchange(times_of(file), 0);
    if (found == 0) continue;
    const std::string often = found == 2 ? "twice" : Format("{} times", found);
    if (found > 1)
      Warn(Format("{} is given {}, so its rows count {}{}", file, often, often, and_so));
    const auto seen = Fingerprint(file);
    if (!seen) continue;
    const auto [other, is_new] = first.try_emplace({seen->bytes, seen->head, seen->tail}, file);
    if (!is_new)
      Warn(
          Format("{} has the size, the beginning and the end of {}: it seems to be a copy, so that "
                 "its rows count again{}",
                 file, other->second, and_so));
  }
}

void WarnOfAbsentKeys(const DataSchema* schema, std::span<const CategoricalFeature> features,
                      const std::vector<std::string>& paths) {
  if (schema == nullptr || schema->format != RowFormat::kJsonl) return;
  const std::vector<std::string> files = ExpandPaths(paths);
  const auto is_regular = [](const std::string& path) {
    std::error_code error;  // of a file that cannot be read, which what reads it says
    return std::filesystem::is_regular_file(path, error);
  };
  const auto file = std::ranges::find_if(files, is_regular);
  if (file == files.end()) return;
  const FirstKeys first = ReadFirstKeys(*file);
  if (first.rows == 0) return;
  std::vector<std::string> absent, others(first.keys.begin(), first.keys.end());
  const RowRules rules(*schema, {features.begin(), features.end()});
  const std::set<size_t> never_missing = CellsThatAreThere(rules);
  for (size_t cell = 0; cell < rules.columns().size(); ++cell) {
    const std::string& key = rules.columns()[cell];
    if (!first.keys.contains(key) && !never_missing.contains(cell)) absent.push_back(key);
    std::erase(others, key);
  }
  if (absent.empty()) return;
  const std::string near = absent.size() == 1 ? DidYouMean(absent[0], others) : "";
  Warn(Format("{}: none of the first {} has {} {}{}, read as missing; other keys are {}", *file,
              internal::Counted(first.rows, "row"), absent.size() == 1 ? "the key" : "the keys",
              SomeNames(absent), near, others.empty() ? "none" : SomeNames(others)));
}

}  // namespace tessera::cli
