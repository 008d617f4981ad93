#ifndef TESSERA_TRAIN_DATA_SETS_H_
#define TESSERA_TRAIN_DATA_SETS_H_
// The rows of a run: what to train on and what to evaluate on, from the configuration and what the
// user chose beside it.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/click_row_stream.h"
#include "data/data_source.h"
#include "data/files/data_identity.h"
#include "data/row_table.h"
#include "data/row_table_source.h"
#include "data/rows/criteo_batches.h"
#include "data/rows/row_rules.h"
#include "data/rows/text_row_reader.h"
#include "data/rows/text_row_source.h"
#include "data/rows/unknown_items.h"
#include "data/split/row_split.h"
#include "data/split/split_counts.h"
#include "metrics/click_metrics.h"
#include "train/config/train_config.h"

namespace tessera {

// Rows of a batch of OpenEval. Nothing is learned from it, so its size matters for speed, and for
// tasks by in_batch_softmax, which choose among the candidates of a batch.
inline constexpr int64_t kEvaluationBatch = 2048;

// Given files are ratings or a user's own where the configuration says so, else Criteo rows in any
// layout (data_files.h); without any, the data must be made up. A user's own text may also be row
// folders that it was parsed to (data/files/bag_folder.h). Paths may be patterns, or "-"
// (data/files/expand_paths.h).
struct DataSelection {
  std::vector<std::string> files = {};
  std::vector<std::string> eval_files = {};  // empty: evaluation rows are of `files`
  std::optional<RowRange> train_rows = {};   // absent: all
  std::optional<RowRange> eval_rows = {};    // absent: all of eval_files, or none
  bool skip_bad_lines = false;
  int threads = 1;  // that parse text of a user's own files; 0: as many as there are cores
  // Whether to look up whether ranges of rows end inside the data. Of ranks that are processes one
  // does.
  bool checks_ranges = true;
  // Count items without an id of their own, where the format knows them (unknown_items.h): in the
  // rows to train on, or to read in order, and in those for evaluation. Null: nobody asks.
  std::shared_ptr<UnknownItems> unknown_items = nullptr, unknown_eval_items = nullptr;
  // Where the configuration has a split: the rows that OpenInOrder reads; a training reads kTrain,
  // and has those of kEval for evaluation. Each part is cut by its own range.
  RowPart part = RowPart::kTrain;
};

// The part of a configuration, or of a saved model, that says how rows are read.
struct RowInputs {
  DataConfig data;
  std::vector<CategoricalFeature> features;  // that tables read
  int64_t dense_in = 0;
  bool weighted = false;  // the model takes weights of ids
  LabelCheck label_check = nullptr;
};
RowInputs RowInputsOf(const TrainConfig& config);

class DataSets {
 public:
  // Throws Error for a selection that has no rows to train on, or rows for evaluation that are not
  // told apart from these, also where they come by the same files, or by copies, and for rows of
  // Criteo that were prepared otherwise than those of the model, or than those to train on. Files
  // are opened once, and first lines read, so that wrong files are errors now; a split by key or
  // time reads ids or times of all rows of a table, one by the last times also those of text. Each
  // side of a split has a row: text is read as far as the first one of each. The ranges of the
  // selection end inside the data: lines of text are counted, once, unless it is packed or has more
  // than 4 GiB. A pipe is not opened: what whoever fills it has written would be lost.
  DataSets(const TrainConfig& config, DataSelection selection);
  // To read rows in their order alone, by OpenInOrder: nothing is for evaluation, and the part of a
  // split that is read may have no row.
  DataSets(const RowInputs& inputs, DataSelection selection);

  // Batches of the rows to train on, in the order of an epoch, from the place `first_row` of it on
  // (an end_row of its batches; 0: from the first), read ahead. Rank `rank` of several gets its
  // part of each batch alone: of text, it reads all lines and parses its own. It gets whole batches
  // of text that is split or whose bad lines are skipped, as only parsing says which rows a batch
  // has.
  // What the ranks count of unknown items adds up to that of all. Throws Error for a place after
  // the last, and for a pipe that several ranks would read.
  std::unique_ptr<DataSource> OpenTrain(int64_t first_row, int64_t epoch = 0, int rank = 0,
                                        int ranks = 1) const;
  // Whole batches, on every rank, of which the first counts unknown items. Null if there are no
  // rows for evaluation.
  std::unique_ptr<DataSource> OpenEval(int rank = 0) const;

  bool has_eval_rows() const { return EvalRows().has_value(); }
  // The places of an epoch, with their end; absent where that is only known when all are read
  // (text, of which no range of rows was asked for, or which is split).
  std::optional<RowRange> EpochRows() const { return KnownPlaces(train_, TrainRows()); }
  // Those of an evaluation, likewise; absent, too, where there is none.
  std::optional<RowRange> EvaluationRows() const {
    const auto rows = EvalRows();
    return rows ? KnownPlaces(eval_, *rows) : std::nullopt;
  }

  // Batches of the rows that would be trained on, as they lie.
  std::unique_ptr<DataSource> OpenInOrder(int64_t batch_size) const;

  // Identities of the training and evaluation data, as they were when the files were opened. Text
  // for evaluation has the one that it has now, as each evaluation opens it.
  DataIdentity train_identity() const { return {TrainRows(), train_.identities}; }
  DataIdentity eval_identity() const;

  // With the time at which a split by the last times begins; absent where rows are not split.
  const std::optional<SplitOptions>& split() const { return data_.split; }
  // Says what was done to the values of the rows (data/files/row_preparation.h), which whoever
  // saves a model keeps in its configuration; "": unknown.
  const std::string& prepared() const { return data_.prepared; }
  // The counts of each part as far as they are known: of tables from the start, else once it was
  // read.
  const SplitCounts& split_counts() const { return *split_counts_; }

  // The selection's, or null.
  const std::shared_ptr<UnknownItems>& unknown_items() const { return selection_.unknown_items; }
  const std::shared_ptr<UnknownItems>& unknown_eval_items() const {
    return selection_.unknown_eval_items;
  }

  // Metrics of the true probabilities of planted data on the evaluation rows: no model does better,
  // but by luck. nullopt for other data.
  std::optional<MetricValues> Optimum() const;

 private:
  // `epochs`: how often the rows to train on are read, 0 to read them in order alone; batches of
  // OpenTrain have batch_size.
  DataSets(const RowInputs& inputs, DataSelection selection, int64_t batch_size, int64_t epochs);
  // Rows of some files, or made up: a table, or, where that is null, text.
  struct Rows {
    std::vector<std::string> files;
    std::shared_ptr<const RowTable> table;
    std::shared_ptr<UnknownItems> unknown = nullptr;
    std::shared_ptr<const RowFilter> filter = nullptr;  // of text that is split
    bool is_subset = false;                     // the table has the rows of a range and part alone
    std::vector<PathIdentity> identities = {};  // of the files, where rows are trained on
  };
  bool made_up() const { return selection_.files.empty(); }
  std::shared_ptr<const RowTable> MapDays(const std::vector<std::string>& files,
                                          const DataSchema& schema,
                                          const std::vector<CategoricalFeature>& features) const;
  std::shared_ptr<const RowTable> MapStored(const std::vector<std::string>& files,
                                            const std::vector<CategoricalFeature>& features) const;
  void CheckReadByRanks(const Rows& rows, int ranks) const;
  std::shared_ptr<const RowTable> MadeUp();
  void CheckRanges() const;
  // A range, and the flag that names it.
  using AskedRange = std::pair<const char*, RowRange>;
  void CheckRangesOf(const Rows& rows, const std::vector<AskedRange>& ranges) const;
  std::optional<int64_t> LengthOf(const Rows& rows, int64_t enough) const;
  void CheckPlace(int64_t first_row) const;
  RowRange TrainRows() const;
  std::optional<RowRange> EvalRows() const;
  RowFiles OwnFiles(const Rows& rows) const;
  static RowRange PlacesOf(const Rows& rows, const RowRange& range);
  static std::optional<RowRange> KnownPlaces(const Rows& rows, const RowRange& range);
  CriteoRows ClicksOf(const Rows& rows) const;
  // `counts`: whether to count unknown items.
  std::unique_ptr<DataSource> OpenText(const Rows& rows, TextRowSourceOptions options,
                                       bool counts = true) const;
  std::unique_ptr<DataSource> OpenTable(const Rows& rows, const RowTableSourceOptions& options,
                                        bool counts = true) const;

  // ---- data_sets_files.cc
  Rows RowsOf(const std::vector<std::string>& files) const;
  Rows OpenedRowsOf(const std::vector<std::string>& files) const;
  Rows OwnRowsOf(const std::vector<std::string>& files) const;
  Rows RatingsOf(const std::vector<std::string>& files) const;
  [[noreturn]] void RefuseNoRows(const std::vector<std::string>& files) const;
  void CheckReadOnce(int64_t epochs) const;
  void CheckFormat() const;
  void ReadFirstRows(const std::vector<std::string>& files) const;
  bool ReadsRow(const std::vector<std::string>& files, int64_t row) const;
  void ReadFirstLines(const std::vector<std::string>& files) const;
  void CheckMissingIsStored(const std::vector<std::string>& files) const;
  void TakePreparation(const std::vector<std::string>& files);
  void CheckSelection() const;
  void CheckEvalFiles(const RowRange& eval_rows) const;

  // ---- data_sets_split.cc
  void CheckSplitOnce(const std::string& path) const;
  void SplitRows();
  bool HasRow(const Rows& rows, const RowRange& range) const;
  [[noreturn]] void RefuseEmptyPart(RowPart part) const;
  void SplitTables();
  std::shared_ptr<const RowTable> TableOfKeys() const;
  int64_t FindLastTime() const;
  int64_t IdRows() const;
  std::unique_ptr<DataSource> Counted(const Rows& rows, bool whole,
                                      std::unique_ptr<DataSource> source) const;

  DataConfig data_;
  DataSelection selection_;
  std::vector<CategoricalFeature> features_;
  int64_t dense_in_, batch_size_;
  bool trains_;                                // else rows are read in their order alone
  std::shared_ptr<const ClickModel> planted_;  // null for other data
  std::shared_ptr<const RowRules> rules_;      // of a user's own text; null for other data
  Rows train_, eval_;
  std::shared_ptr<SplitCounts> split_counts_ = std::make_shared<SplitCounts>();
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_DATA_SETS_H_
