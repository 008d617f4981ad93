#include "train/data_sets.h"

#include <algorithm>

#include "data/files/bag_folder.h"
#include "data/files/data_files.h"
#include "data/files/expand_paths.h"
#include "data/files/line_reader.h"
#include "data/files/multi_hot_rows.h"
#include "data/files/ratings.h"
#include "data/files/text_file.h"
#include "data/read_ahead.h"
#include "data/row_table_source.h"
#include "data/rows/count_rows.h"
#include "data/same_rows.h"
#include "data/synthetic/planted_rows.h"
#include "data/synthetic/random_rows.h"
#include "runtime/base/report_text.h"
#include "train/optimum.h"
#include "train/task_rows.h"

namespace tessera {
namespace {

// Synthetic rows have no last one; ranges say which are used.
constexpr int64_t kEndless = RowRange::kEnd - 1;
constexpr int64_t kMaxCounted = int64_t{4} << 30;  // bytes of text whose lines are counted ahead

// How many rows the data must have for a range.
int64_t RowsFor(const RowRange& range) {
  return range.last == RowRange::kEnd ? range.first + 1 : range.last;
}

// Whether to count lines takes little beside an epoch: as they lie, they go by at the speed of the
// disk.
bool IsCheapToCount(const std::vector<std::string>& paths) {
  int64_t bytes = 0;
  for (const std::string& path : paths) {
    if (!CanReadAgain(path)) return false;
    TextFile file(path);
    bytes += file.bytes();
    if (bytes > kMaxCounted || !file.IsPlain()) return false;
  }
  return true;
}

// Inputs whose labels the model's tasks learn.
RowInputs TrainedInputsOf(const TrainConfig& config) {
  RowInputs inputs = RowInputsOf(config);
  inputs.label_check = LabelCheckOf(TasksOf(config.model, config.data), config.data);
  return inputs;
}

}  // namespace

RowInputs RowInputsOf(const TrainConfig& config) {
  return {.data = config.data,
          .features = Features(config),
          .dense_in = config.model.dense_in,
          .weighted = config.model.weighted};
}

DataSets::DataSets(const TrainConfig& config, DataSelection selection)
    : DataSets(TrainedInputsOf(config), std::move(selection), ExamplesOfStep(config),
               config.epochs) {
  CheckRanges();
}

DataSets::DataSets(const RowInputs& inputs, DataSelection selection)
    : DataSets(inputs, std::move(selection), kEvaluationBatch, /*epochs=*/0) {}

DataSets::DataSets(const RowInputs& inputs, DataSelection selection, int64_t batch_size,
                   int64_t epochs)
    : data_(inputs.data),
      selection_(std::move(selection)),
      features_(inputs.features),
      dense_in_(inputs.dense_in),
      batch_size_(batch_size),
      trains_(epochs > 0) {
  if (inputs.weighted && data_.schema == nullptr)
    throw Error(Format("model.weighted: the rows of the format {} bring no weights of ids",
                       ToString(data_.format)));
  if (selection_.part == RowPart::kAll) data_.split.reset();
  selection_.files = ExpandPaths(selection_.files);
  selection_.eval_files = ExpandPaths(selection_.eval_files);
  CheckReadOnce(epochs);
  CheckFormat();
  if (data_.schema != nullptr && data_.schema->is_text())
    rules_ = std::make_shared<const RowRules>(*data_.schema, features_, inputs.label_check);
  if (made_up())
    train_.table = MadeUp();
  else
    train_ = RowsOf(selection_.files);
  TakePreparation(selection_.files);
  eval_ = selection_.eval_files.empty() ? train_ : RowsOf(selection_.eval_files);
  if (!selection_.eval_files.empty()) TakePreparation(selection_.eval_files);
  train_.unknown = selection_.unknown_items;
  eval_.unknown = selection_.unknown_eval_items;
  CheckSelection();
  if (data_.split) SplitRows();
}

// Files take the place of planted rows, which are Criteo's; random rows are those of no file.
void DataSets::CheckFormat() const {
  if (data_.format != DataFormat::kRandom) return;
  for (const auto* files : {&selection_.files, &selection_.eval_files})
    if (!files->empty())
      throw Error(
          Format("{}: the configuration's rows are made up (\"format\": \"{}\"); expected one "
                 "whose data.format is that of the file, such as criteo",
                 files->front(), ToString(data_.format)));
}

std::shared_ptr<const RowTable> DataSets::MadeUp() {
  if (data_.format == DataFormat::kPlanted) {
    planted_ = std::make_shared<const ClickModel>(data_.planted);
    return std::make_shared<PlantedRows>(planted_, BatchBuilder(features_, data_.missing),
                                         kEndless);
  }
  if (data_.format == DataFormat::kRandom)
    return std::make_shared<RandomRows>(
        RandomRowsOptions{.features = features_,
                          .ids_per_feature = data_.random.ids_per_feature,
                          .num_dense = dense_in_,
                          .seed = data_.random.seed,
                          .rows = kEndless,
                          .distinct_rows = data_.random.distinct_rows});
  throw Error(Format("no data: give --data FILE with {}",
                     data_.format == DataFormat::kMovieLens ? std::string("ratings")
                     : data_.schema                         ? ToString(data_.format) + " rows"
                                                            : std::string("Criteo rows")));
}

RowFiles DataSets::OwnFiles(const Rows& rows) const {
  return {.paths = rows.files,
          .skip_bad_lines = selection_.skip_bad_lines,
          .threads = selection_.threads,
          .unknown_items = rows.unknown,
          .filter = rows.filter};
}

std::shared_ptr<const RowTable> DataSets::MapStored(
    const std::vector<std::string>& files, const std::vector<CategoricalFeature>& features) const {
  const auto rows = std::make_shared<const StoredRows>(MapStoredFiles(files), features);
  if (dense_in_ != 0 && rows->dense_columns() != dense_in_)  // 0: the model leaves them
    throw Error(Format("{}: expected {} numbers a row, the model's dense_in, got {}", files.front(),
                       dense_in_, rows->dense_columns()));
  return rows;
}

std::shared_ptr<const RowTable> DataSets::MapDays(
    const std::vector<std::string>& files, const DataSchema& schema,
    const std::vector<CategoricalFeature>& features) const {
  const auto rows =
      std::make_shared<const StoredBags>(MapMultiHotDays(MultiHotDays(files), schema, features));
  if (dense_in_ != 0 && rows->dense_columns() != dense_in_)
    throw Error(Format("{}: expected {} numbers a row, the model's dense_in, got {}", files.front(),
                       dense_in_, rows->dense_columns()));
  const int64_t labels = std::ssize(LabelNames(data_));
  if (rows->label_columns() != labels)
    throw Error(Format("{}: expected {} a row, or the names of all in data.labels, got {}",
                       files.front(), internal::Counted(labels, "label"), rows->label_columns()));
  return rows;
}

// The number of rows, or one of `enough` or more; absent where only reading them all tells.
std::optional<int64_t> DataSets::LengthOf(const Rows& rows, int64_t enough) const {
  if (rows.table != nullptr) return rows.table->rows();
  if (!IsCheapToCount(rows.files)) return {};
  const bool headings = data_.schema != nullptr && data_.schema->format != RowFormat::kJsonl &&
                        data_.schema->columns.empty();
  return CountRows(rows.files, headings, enough);
}

void DataSets::CheckRangesOf(const Rows& rows, const std::vector<AskedRange>& ranges) const {
  int64_t most = 0;
  for (const auto& [flag, range] : ranges) most = std::max(most, RowsFor(range));
  if (most == 0) return;
  const std::optional<int64_t> length = LengthOf(rows, most);
  for (const auto& [flag, range] : ranges)
    if (length && *length < RowsFor(range))
      throw Error(Format("{}: {}", flag, PastEndText(range, *length, rows.files)));
}

// An epoch may take long: what its end would find is an error now, where that costs little.
void DataSets::CheckRanges() const {
  if (!selection_.checks_ranges) return;
  if (train_.is_subset) return;  // whoever splits a table has looked at its ranges
  std::vector<AskedRange> of_train, of_eval;
  if (selection_.train_rows) of_train.emplace_back("--train-rows", TrainRows());
  std::vector<AskedRange>& others = train_.files == eval_.files ? of_train : of_eval;
  if (selection_.eval_rows) others.emplace_back("--eval-rows", *EvalRows());
  CheckRangesOf(train_, of_train);
  CheckRangesOf(eval_, of_eval);
}

void DataSets::CheckPlace(int64_t first_row) const {
  const RowRange rows = PlacesOf(train_, TrainRows());
  if (first_row <= rows.last) return;
  throw Error(
      Format("training goes on at row {}, but the rows to train on are {}: nothing would "
             "be trained; give the rows that it began with",
             first_row, rows));
}

RowRange DataSets::TrainRows() const {
  RowRange rows = selection_.train_rows.value_or(RowRange{});
  if (made_up() && rows.last == RowRange::kEnd) rows.last = std::max(data_.rows, rows.first);
  return rows;
}

std::optional<RowRange> DataSets::EvalRows() const {
  if (!trains_) return std::nullopt;
  const bool of_made_up = made_up() && selection_.eval_files.empty();
  const int64_t made_up_end = data_.rows + data_.eval_rows;
  if (selection_.eval_rows) {
    RowRange rows = *selection_.eval_rows;
    if (of_made_up && rows.last == RowRange::kEnd) rows.last = std::max(made_up_end, rows.first);
    return rows;
  }
  if (!selection_.eval_files.empty()) return RowRange{};
  if (data_.split) return RowRange{};
  if (of_made_up && data_.eval_rows > 0) return RowRange{data_.rows, made_up_end};
  return std::nullopt;
}

// A subset's rows are numbered anew.
RowRange DataSets::PlacesOf(const Rows& rows, const RowRange& range) {
  return rows.is_subset ? RowRange{} : range;
}

CriteoRows DataSets::ClicksOf(const Rows& rows) const {
  return {{rows.files, selection_.skip_bad_lines}, rows.filter, features_, data_.missing};
}

// Ranks that read at once would each get some of the bytes.
void DataSets::CheckReadByRanks(const Rows& rows, int ranks) const {
  if (ranks == 1) return;
  for (const std::string& path : rows.files)
    if (!CanReadAgain(path))
      throw Error(
          Format("{}: it can be read once, but each of {} ranks reads all lines: expected a file",
                 path, ranks));
}

// A rank parses its rows alone where the lines of a batch are known before any of them is parsed;
// else every rank parses all.
std::unique_ptr<DataSource> DataSets::OpenText(const Rows& rows, TextRowSourceOptions options,
                                               bool counts) const {
  CheckReadByRanks(rows, options.ranks);
  const bool whole = options.first_place <= options.range.first;
  if (selection_.skip_bad_lines || rows.filter != nullptr) {
    counts &= options.rank == 0;
    options.rank = 0;
    options.ranks = 1;
  }
  RowFiles files = OwnFiles(rows);
  if (!counts) files.unknown_items = nullptr;
  std::unique_ptr<DataSource> source;
  if (rules_ == nullptr)
    source = OpenCriteoBatches(ClicksOf(rows), options);
  else
    source = std::make_unique<TextRowSource>(rules_, files, options);
  return std::make_unique<ReadAhead>(Counted(rows, whole, std::move(source)));
}

std::unique_ptr<DataSource> DataSets::OpenTable(const Rows& rows,
                                                const RowTableSourceOptions& options,
                                                bool counts) const {
  std::unique_ptr<DataSource> source = std::make_unique<RowTableSource>(rows.table, options);
  if (rows.unknown != nullptr && counts)
    source = CountedItems(std::move(source), features_, rows.unknown);
  return std::make_unique<ReadAhead>(std::move(source));
}

std::unique_ptr<DataSource> DataSets::OpenTrain(int64_t first_row, int64_t epoch, int rank,
                                                int ranks) const {
  CheckPlace(first_row);
  if (train_.table == nullptr)
    return OpenText(train_, {.batch_size = batch_size_,
                             .range = TrainRows(),
                             .shuffle = data_.shuffle,
                             .epoch = epoch,
                             .first_place = first_row,
                             .rank = rank,
                             .ranks = ranks});
  RowTableSourceOptions options{.batch_size = batch_size_,
                                .range = PlacesOf(train_, TrainRows()),
                                .shuffle = data_.shuffle,
                                .epoch = epoch,
                                .first_place = first_row};
  options.rank = rank;
  options.ranks = ranks;
  return OpenTable(train_, options);
}

std::unique_ptr<DataSource> DataSets::OpenEval(int rank) const {
  const auto rows = EvalRows();
  if (!rows) return nullptr;
  const bool counts = rank == 0;
  if (eval_.table == nullptr)
    return OpenText(eval_, {.batch_size = kEvaluationBatch, .range = *rows}, counts);
  return OpenTable(eval_, {.batch_size = kEvaluationBatch, .range = PlacesOf(eval_, *rows)},
                   counts);
}

std::optional<RowRange> DataSets::KnownPlaces(const Rows& rows, const RowRange& range) {
  if (rows.filter != nullptr) return {};
  RowRange places = PlacesOf(rows, range);
  if (rows.table != nullptr) places.last = std::min(places.last, rows.table->rows());
  return places.last == RowRange::kEnd ? std::nullopt : std::optional(places);
}

std::unique_ptr<DataSource> DataSets::OpenInOrder(int64_t batch_size) const {
  if (train_.table == nullptr)
    return OpenText(train_, {.batch_size = batch_size, .range = TrainRows()});
  return OpenTable(train_, {.batch_size = batch_size, .range = PlacesOf(train_, TrainRows())});
}

DataIdentity DataSets::eval_identity() const {
  const auto rows = EvalRows();
  if (!rows) return {};
  if (eval_.table == nullptr) return IdentityOf(eval_.files, *rows);
  return {*rows, eval_.identities};
}

std::optional<MetricValues> DataSets::Optimum() const {
  const auto rows = EvalRows();
  if (planted_ == nullptr || !selection_.eval_files.empty() || !rows) return std::nullopt;
  return ComputeOptimum(*planted_, *rows);
}

}  // namespace tessera
