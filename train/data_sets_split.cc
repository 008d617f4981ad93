// The rows of a run whose configuration has a split.
#include <algorithm>
#include <utility>

#include "data/files/bag_folder.h"
#include "data/files/expand_paths.h"
#include "data/rows/text_times.h"
#include "data/split/split_table.h"
#include "runtime/base/check.h"
#include "train/data_sets.h"

namespace tessera {
namespace {

// Leaves only one feature and the times of a schema.
DataSchema WithFeatureAlone(const DataSchema& schema, const std::string& feature) {
  DataSchema alone = schema;
  alone.dense.clear();
  alone.labels.clear();
  alone.weight.clear();
  std::erase_if(alone.features, [&](const FeatureEntry& entry) { return entry.name != feature; });
  return alone;
}

}  // namespace

// A path that can be read once.
void DataSets::CheckSplitOnce(const std::string& path) const {
  const SplitOptions& split = *data_.split;
  if (trains_)
    throw Error(
        Format("{}: it can be read once, so rows for evaluation (data.split) cannot be taken of "
               "it: expected a file",
               path));
  if (SeeksTime(split))
    throw Error(
        Format("{}: it can be read once, but the last rows by time (data.split) are only known "
               "when all were read: expected a file, or data.split.at",
               path));
}

void DataSets::SplitRows() {
  if (!selection_.eval_files.empty())
    throw Error(
        Format("data.split beside --eval {}: it takes the rows for evaluation of --data: leave "
               "one of them out",
               selection_.eval_files.front()));
  SplitOptions& split = *data_.split;
  const bool seeks = SeeksTime(split);
  if (seeks) {
    split.at = FindLastTime();
    split.at_was_found = true;
  }
  if (train_.table != nullptr) return SplitTables();
  train_.filter = std::make_shared<const RowFilter>(split, selection_.part);
  eval_.filter = std::make_shared<const RowFilter>(split, RowPart::kEval);
  const bool both_have_rows = seeks && !selection_.train_rows && !selection_.eval_rows;
  if (!trains_ || both_have_rows) return;
  if (!HasRow(train_, TrainRows())) RefuseEmptyPart(RowPart::kTrain);
  if (!HasRow(eval_, *EvalRows())) RefuseEmptyPart(RowPart::kEval);
}

// Whether text has a row in the range on its side of the split. Reads as far as the first one.
bool DataSets::HasRow(const Rows& rows, const RowRange& range) const {
  if (rules_ == nullptr) {
    ClickRow row;
    return OpenClicks(ClicksOf(rows), range)->Next(row);
  }
  RowFiles files = OwnFiles(rows);
  files.unknown_items = nullptr;  // these rows are read again
  TextRowReader reader(rules_, files, range);
  while (const auto block = reader.Next())
    if (block->rows() > 0) return true;
  return false;
}

void DataSets::RefuseEmptyPart(RowPart part) const {
  const bool trains = part == RowPart::kTrain;
  const auto& range = trains ? selection_.train_rows : selection_.eval_rows;
  const std::string& file = train_.files.front();
  throw Error(Format(
      "data.split: {}: it leaves no rows {}, of {}{}: expected at least one: change {}",
      *data_.split, trains ? "to train on" : "for evaluation",
      train_.table == nullptr ? file : Format("the {} rows of {}", train_.table->rows(), file),
      range ? Format(", among {} {}", trains ? "--train-rows" : "--eval-rows", *range) : "",
      range ? "the split or the range" : "the split"));
}

void DataSets::SplitTables() {
  const RowRange train = TrainRows(), eval = trains_ ? *EvalRows() : train;
  const TableToSplit rows{train_.table, TableOfKeys(), IdRows(), selection_.threads};
  const PartTables parts = SplitTable(rows, *data_.split, train, eval, *split_counts_);
  if (trains_ && parts.train->rows() == 0) RefuseEmptyPart(RowPart::kTrain);
  if (trains_ && parts.eval->rows() == 0) RefuseEmptyPart(RowPart::kEval);
  train_.table = selection_.part == RowPart::kTrain ? parts.train : parts.eval;
  eval_.table = parts.eval;
  train_.is_subset = eval_.is_subset = true;
}

// The rows' feature or times that the split goes by, without what else costs to read.
std::shared_ptr<const RowTable> DataSets::TableOfKeys() const {
  const bool by_key = data_.split->by == SplitBy::kKey;
  if (data_.split->by == SplitBy::kRandom || data_.format == DataFormat::kMovieLens)
    return train_.table;
  std::vector<CategoricalFeature> read;
  for (const CategoricalFeature& feature : features_)
    if (by_key ? feature.name == data_.split->feature : read.empty()) read.push_back(feature);
  TESSERA_CHECK(!read.empty(), "no feature '{}'", data_.split->feature);
  if (data_.schema == nullptr) return MapStored(train_.files, read);
  const DataSchema alone = WithFeatureAlone(*data_.schema, read.front().name);
  if (!alone.is_text()) return MapDays(train_.files, alone, read);
  return std::make_shared<const StoredBags>(MapBagFolders(train_.files, alone, read));
}

int64_t DataSets::FindLastTime() const {
  const LastTime times = train_.table != nullptr
                             ? TimesOf(*TableOfKeys())
                             : TimesOf(*data_.schema, {.paths = train_.files,
                                                       .skip_bad_lines = selection_.skip_bad_lines,
                                                       .threads = selection_.threads});
  return times.Begin(data_.split->fraction);
}

// Rows of the table of the feature that a split by key goes by; 0: raw ids, and other splits.
int64_t DataSets::IdRows() const {
  for (const CategoricalFeature& feature : features_)
    if (data_.split->by == SplitBy::kKey && feature.name == data_.split->feature)
      return CheckedHashSize(feature);
  return 0;
}

// Counts the rows of text that is split, if all are read and nobody knows them yet.
std::unique_ptr<DataSource> DataSets::Counted(const Rows& rows, bool whole,
                                              std::unique_ptr<DataSource> source) const {
  if (rows.filter == nullptr || !whole) return source;
  const RowPart part = &rows == &eval_ ? RowPart::kEval : selection_.part;
  if (split_counts_->Of(part)) return source;
  return CountedRows(std::move(source), *data_.split, part, IdRows(), split_counts_);
}

}  // namespace tessera
