// Looks at the files of a run before it starts.
#include <algorithm>

#include "data/files/bag_folder.h"
#include "data/files/criteo_stream.h"
#include "data/files/data_files.h"
#include "data/files/expand_paths.h"
#include "data/files/ratings.h"
#include "data/files/row_preparation.h"
#include "data/files/text_file.h"
#include "data/same_rows.h"
#include "runtime/base/check.h"
#include "train/data_sets.h"

namespace tessera {
namespace {

constexpr int64_t kFirstRows = 100;  // that are read before anything starts

bool IsIn(const RowRange& range, int64_t row) { return range.first <= row && row < range.last; }

bool Overlap(const RowRange& a, const RowRange& b) { return a.first < b.last && b.first < a.last; }

}  // namespace

// Standard input, or a pipe.
void DataSets::CheckReadOnce(int64_t epochs) const {
  for (const std::string& path : selection_.files) {
    if (CanReadAgain(path)) continue;
    if (epochs > 1)
      throw Error(
          Format("{}: it can be read once, but train.epochs is {}: expected 1 epoch, or a "
                 "file",
                 path, epochs));
    if (data_.split) CheckSplitOnce(path);
    if (selection_.eval_files.empty() && selection_.eval_rows)
      throw Error(
          Format("{}: it can be read once, so rows for evaluation (--eval-rows) cannot be "
                 "taken of it: give them by --eval FILE",
                 path));
  }
  for (const std::string& path : selection_.eval_files)
    if (!CanReadAgain(path))
      throw Error(
          Format("--eval {}: rows for evaluation are read several times, but this can be "
                 "read once: expected a file",
                 path));
}

// Columns that a file has not, and first rows that are not what the schema says, are errors now.
void DataSets::ReadFirstRows(const std::vector<std::string>& files) const {
  const bool may_have_heading = rules_->schema().format != RowFormat::kJsonl;
  for (const std::string& file : files) {
    const bool is_first = &file == &files.front();  // of others the heading alone is looked at
    if (!CanReadAgain(file) || !(is_first || may_have_heading)) continue;
    TextRowReader reader(rules_, {.paths = {file},
                                  .skip_bad_lines = selection_.skip_bad_lines || !is_first,
                                  .piece_bytes = 1 << 16});
    int64_t rows = 0;
    do {
      const auto block = reader.Next();
      if (block == nullptr) break;
      rows += block->rows();
      if (block->error.empty()) continue;
      if (rows < kFirstRows && ReadsRow(files, rows)) throw Error(block->error);
      break;
    } while (is_first && rows < kFirstRows);
  }
}

// Whether a row of the files is one that is read. Rows that nobody reads may be bad.
bool DataSets::ReadsRow(const std::vector<std::string>& files, int64_t row) const {
  if (&files == &selection_.eval_files) return IsIn(*EvalRows(), row);
  const auto eval = selection_.eval_files.empty() ? EvalRows() : std::nullopt;
  return IsIn(TrainRows(), row) || (eval && IsIn(*eval, row));
}

// A file whose first line is no row of Criteo's is an error now, and so are files without any row,
// of which an epoch would tell only in its end.
void DataSets::ReadFirstLines(const std::vector<std::string>& files) const {
  bool any = false;
  for (const std::string& file : files) {
    if (!CanReadAgain(file)) return;
    const bool reads = &file != &files.front() || ReadsRow(files, 0);
    ClickRow row;
    any |= CriteoStream({{file}, selection_.skip_bad_lines || !reads}).Next(row);
  }
  if (!any) RefuseNoRows(files);
}

void DataSets::RefuseNoRows(const std::vector<std::string>& files) const {
  throw Error(Format("{}{}: expected rows, but there are none",
                     &files == &selection_.eval_files ? "--eval " : "", files.front()));
}

DataSets::Rows DataSets::RatingsOf(const std::vector<std::string>& files) const {
  if (selection_.skip_bad_lines)
    throw Error(Format(
        "--skip-bad-lines does not go with \"format\": \"movielens\", of which a bad line is "
        "always an error: mend {}, or read it by a schema of \"csv\" or \"tsv\"",
        files.front()));
  std::vector<Rating> ratings = ReadRatings(files);
  if (ratings.empty()) RefuseNoRows(files);
  return {files, std::make_shared<RatingRows>(std::move(ratings), features_, data_.like_from)};
}

// A stored id says no more whether it was there: 0 is that of a missing one, as row 0 has it.
void DataSets::CheckMissingIsStored(const std::vector<std::string>& files) const {
  if (data_.missing != MissingIds::kEmptyBag) return;
  throw Error(
      Format("data.missing: empty_bag is for text, but {} holds stored rows, in which a missing id "
             "is an id like others: expected \"row0\", or the text",
             files.front()));
}

// Rows of Criteo (all others: a schema says how) that were prepared otherwise than those that the
// model is of, or than those to train on, mean other things by the same numbers.
void DataSets::TakePreparation(const std::vector<std::string>& files) {
  const bool planted = data_.format == DataFormat::kPlanted;
  if (data_.format != DataFormat::kCriteo && !planted) return;
  const std::string found = files.empty() ? kMadeUpRows : PreparationOf(files, features_);
  if (data_.prepared.empty()) data_.prepared = found;
  if (AreAlike(data_.prepared, found)) return;
  throw Error(Format(
      "{}: expected rows prepared as those that the model is trained on, which are {}, got {}: "
      "give rows that were prepared alike, or train a model on rows such as these",
      files.empty() ? "made-up rows" : files.front(), PreparationText(data_.prepared),
      PreparationText(found)));
}

DataSets::Rows DataSets::OwnRowsOf(const std::vector<std::string>& files) const {
  if (rules_ == nullptr) return {files, MapDays(files, *data_.schema, features_)};
  if (AreRowFolders(files))
    return {files,
            std::make_shared<const StoredBags>(MapBagFolders(files, *data_.schema, features_))};
  for (const std::string& file : files)
    if (CanReadAgain(file)) TextFile probe(file);
  ReadFirstRows(files);
  return {files, nullptr};
}

// Files of a table are mapped once, so that their identity is that of what is mapped, also where
// others take their place later.
DataSets::Rows DataSets::RowsOf(const std::vector<std::string>& files) const {
  if (!trains_) return OpenedRowsOf(files);
  const DataIdentity before = IdentityOf(files, {});
  Rows rows = OpenedRowsOf(files);
  if (rows.table != nullptr && ToText(IdentityOf(files, {})) != ToText(before))
    throw Error(
        Format("{}: files of --data or --eval were replaced while they were opened: start "
               "again when they are whole",
               files.front()));
  rows.identities = before.paths;
  return rows;
}

DataSets::Rows DataSets::OpenedRowsOf(const std::vector<std::string>& files) const {
  if (data_.schema != nullptr) return OwnRowsOf(files);
  if (data_.format == DataFormat::kMovieLens) return RatingsOf(files);
  if (LayoutOfFiles(files) == FileLayout::kText) {
    ReadFirstLines(files);
    return {files, nullptr};
  }
  CheckMissingIsStored(files);
  return {files, MapStored(files, features_)};
}

void DataSets::CheckSelection() const {
  const auto eval_rows = EvalRows();
  if (!eval_rows) return;
  if (data_.split) return;  // no row is of both parts
  if (!selection_.eval_files.empty()) return CheckEvalFiles(*eval_rows);
  if (!Overlap(TrainRows(), *eval_rows)) return;
  throw Error(
      Format("rows {} are for training and rows {} for evaluation, but no row may be both; choose "
             "with --train-rows "
             "and --eval-rows",
             TrainRows(), *eval_rows));
}

// The place of a row is known only if both have the same files in the same order.
void DataSets::CheckEvalFiles(const RowRange& eval_rows) const {
  const auto& train = selection_.files;
  const auto& eval = selection_.eval_files;
  if (std::equal(train.begin(), train.end(), eval.begin(), eval.end(), AreSameRows) &&
      !Overlap(TrainRows(), eval_rows))
    return;
  for (const std::string& e : eval)
    for (const std::string& t : train)
      if (AreSameRows(t, e))
        throw Error(
            Format("{}: its rows are those of {}, which are trained on, and no row may be for "
                   "evaluation, too; choose among the rows of --data with --train-rows and "
                   "--eval-rows, without --eval",
                   e, t));
}

}  // namespace tessera
