#include "data/preprocess/preprocess.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>

#include "data/files/npy_rows.h"
#include "data/files/row_folder.h"
#include "data/files/row_preparation.h"
#include "data/preprocess/column_spool.h"
#include "data/preprocess/contiguous_ids.h"
#include "data/preprocess/row_shuffler.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/files/files.h"

namespace tessera {
namespace {

constexpr int64_t kReportRows = 1 << 14;  // between calls of on_progress

void CheckOptions(const PreprocessOptions& o) {
  if (o.inputs.empty()) throw Error("nothing to preprocess: give files of rows");
  CheckShuffle(o.shuffle, o.keep_last, o.inputs.size());
  for (const int64_t size : o.hash_sizes)
    if (size < 1) throw Error(Format("hash sizes: expected 1 or more, got {}", size));
  std::set<std::string> names;
  for (const std::string& path : o.inputs)
    if (o.to == PreprocessOutput::kNpy && !names.insert(InputName(path)).second)
      throw Error(
          Format("two inputs are called '{}', so that npy files of one would replace those "
                 "of the other",
                 InputName(path)));
}

// Returns how text is prepared before its ids are numbered.
RowPreparation OfText(const PreprocessOptions& o) {
  return {.dense = ToString(o.dense), .missing = ToString(o.missing)};
}

void AddIdStep(const std::string& step, RowPreparation& preparation) {
  if (preparation.ids == RowPreparation().ids)
    preparation.ids = step;
  else
    preparation.ids += ", " + step;
}

std::string HashStep(const std::vector<int64_t>& sizes) {
  std::string step = "modulo";
  for (const int64_t size : sizes) step += Format(" {}", size);
  return step;
}

MadePairs HowMade(const PreprocessOptions& o, const std::optional<RowPreparation>& preparation) {
  MadePairs made;
  for (const std::string& path : o.inputs) made.emplace_back(InputName(path), path);
  if (preparation) AddPreparation(*preparation, made);
  if (o.contiguous) made.emplace_back("frequency_threshold", std::to_string(o.frequency_threshold));
  if (o.shuffle) made.emplace_back("shuffle_seed", std::to_string(o.seed));
  return made;
}

// A row on its way through the shuffler: label, ids, numbers.
class RowRecord {
 public:
  RowRecord(int64_t dense_columns, int64_t id_columns)
      : ids_(static_cast<size_t>(id_columns)), dense_(static_cast<size_t>(dense_columns)) {}

  int64_t bytes() const {
    return static_cast<int64_t>(sizeof(float) * (1 + dense_.size()) +
                                sizeof(int64_t) * ids_.size());
  }
  std::vector<char> Pack(const StoredRow& row) const {
    std::vector<char> packed(static_cast<size_t>(bytes()));
    char* at = packed.data();
    at = Put(at, row.ids.data(), row.ids.size_bytes());
    at = Put(at, row.dense.data(), row.dense.size_bytes());
    Put(at, &row.label, sizeof(float));
    return packed;
  }
  StoredRow Unpack(std::span<const char> packed) {
    StoredRow row{.label = 0, .dense = dense_, .ids = ids_};
    const char* at = packed.data();
    at = Get(at, ids_.data(), row.ids.size_bytes());
    at = Get(at, dense_.data(), row.dense.size_bytes());
    Get(at, &row.label, sizeof(float));
    return row;
  }

 private:
  static char* Put(char* to, const void* from, size_t count) {
    std::memcpy(to, from, count);
    return to + count;
  }
  static const char* Get(const char* from, void* to, size_t count) {
    std::memcpy(to, from, count);
    return from + count;
  }
  std::vector<int64_t> ids_;
  std::vector<float> dense_;
};

class Preprocessor {
 public:
  Preprocessor(const PreprocessOptions& options,
               const std::function<void(const PreprocessProgress&)>& on_progress)
      : options_(options), on_progress_(on_progress) {}

  PreprocessReport Run() {
    CheckOptions(options_);
    for (size_t i = 0; i < options_.inputs.size(); ++i) ReadInput(i);
    if (report_.rows == 0) throw Error(Format("{}: there are no rows", options_.inputs.front()));
    spool_->Close();
    NumberIds();
    NoteIds();
    FindTableRows();
    WriteRows();
    return std::move(report_);
  }

 private:
  // ---- the first pass

  void BeginSpool(const RawInput& input) {
    columns_ = input.id_columns();
    dense_columns_ = input.dense_columns();
    const size_t sizes = options_.hash_sizes.size();
    if (sizes > 1 && sizes != columns_.size())
      throw Error(Format("hash sizes: expected one, or one for each of {} columns, got {}",
                         columns_.size(), sizes));
    spool_.emplace(PathIn(options_.output, "tessera-preprocess-scratch"), dense_columns_,
                   static_cast<int64_t>(columns_.size()));
  }

  void CheckColumns(const RawInput& input, const std::string& path) const {
    if (input.id_columns() != columns_ || input.dense_columns() != dense_columns_)
      throw Error(Format("{}: it has other columns than {}", path, options_.inputs.front()));
  }

  // Inputs that are prepared otherwise than the first, as far as it is known, are refused.
  void TakePreparation(const std::optional<RowPreparation>& of_input, const std::string& path) {
    if (report_.inputs.empty()) preparation_ = of_input;
    if (preparation_ && of_input && *preparation_ != *of_input)
      throw Error(
          Format("{}: it would bring {}, but {} brings {}: expected inputs that are prepared alike",
                 path, PreparationText(ToString(*of_input)), options_.inputs.front(),
                 PreparationText(ToString(*preparation_))));
    if (!of_input) preparation_.reset();
  }

  void ReadInput(size_t which) {
    const std::string& path = options_.inputs[which];
    const auto input = OpenRawInput(path, options_.missing, options_.skip_bad_lines);
    if (!spool_) BeginSpool(*input);
    CheckColumns(*input, path);
    TakePreparation(input->is_text() ? OfText(options_) : PreparationOf(path), path);
    report_.inputs.push_back({.path = path, .first_row = spool_->rows()});
    transforms_.push_back(input->is_text() ? options_.dense
                                           : DenseTransform{DenseTransform::Kind::kAsIs});
    smallest_.push_back(std::numeric_limits<double>::infinity());
    RawRow row;
    while (input->Next(row)) {
      LookAtNumbers(row, *input);
      spool_->Append(row);
      if (spool_->rows() % kReportRows == 0)
        Report("reading", ShareOfInputs(which, options_.inputs.size(), input->fraction()),
               spool_->rows());
    }
    report_.inputs.back().rows = spool_->rows() - report_.inputs.back().first_row;
    report_.skipped_rows += input->skipped_rows();
    report_.rows = spool_->rows();
  }

  // Throws for a number that has no logarithm while its line is still known.
  void LookAtNumbers(const RawRow& row, const RawInput& input) {
    for (const double x : row.dense) {
      smallest_.back() = std::min(smallest_.back(), x);
      if (transforms_.back().kind == DenseTransform::Kind::kLogPlus &&
          std::isnan(transforms_.back()(x, 0)))
        throw Error(Format("{}: {} has no {}", input.where(), x, ToString(transforms_.back())));
    }
  }

  // ---- the second pass

  void NumberIds() {
    for (size_t f = 0; f < columns_.size(); ++f) {
      report_.features.push_back({.name = columns_[f]});
      if (!options_.contiguous) continue;
      const auto column = static_cast<int64_t>(f);
      const ContiguousIdsReport numbered =
          MakeContiguous(spool_->ids(column), spool_->NewIds(column),
                         {.frequency_threshold = options_.frequency_threshold,
                          .memory_bytes = options_.memory_bytes});
      spool_->UseNewIds(column);
      report_.features.back().distinct = numbered.distinct;
      report_.features.back().kept = numbered.kept;
      numbering_ = internal::HashOf(Format("{:x} {:x}", numbering_, numbered.hash));
      Report("numbering ids", static_cast<double>(f + 1) / static_cast<double>(columns_.size()),
             spool_->rows());
    }
  }

  void NoteIds() {
    if (!preparation_) return;
    if (options_.contiguous) AddIdStep(Format("contiguous {:016x}", numbering_), *preparation_);
    if (!options_.hash_sizes.empty()) AddIdStep(HashStep(options_.hash_sizes), *preparation_);
  }

  int64_t HashSize(size_t column) const {
    const auto& sizes = options_.hash_sizes;
    return sizes.empty() ? 0 : sizes[sizes.size() == 1 ? 0 : column];
  }

  int64_t IdOf(size_t column, int64_t row) const {
    const int64_t id = spool_->ids(static_cast<int64_t>(column))[static_cast<size_t>(row)];
    return HashedId(id, HashSize(column));
  }

  void FindTableRows() {
    for (size_t f = 0; f < columns_.size(); ++f) {
      int64_t least = 0, most = 0;
      for (int64_t row = 0; row < spool_->rows(); ++row) {
        const int64_t id = IdOf(f, row);
        least = std::min(least, id);
        most = std::max(most, id);
      }
      report_.features[f].table_rows =
          least < 0 || most == std::numeric_limits<int64_t>::max() ? 0 : most + 1;
      using Narrow = std::numeric_limits<int32_t>;
      if (least < Narrow::min() || most > Narrow::max()) id_type_ = DType::kI64;
    }
  }

  std::unique_ptr<RowWriter> MakeWriter(size_t input) const {
    if (options_.to == PreprocessOutput::kNpy)
      return std::make_unique<NpyDayWriter>(
          PathIn(options_.output, InputName(options_.inputs[input])), dense_columns_,
          static_cast<int64_t>(columns_.size()), id_type_);
    RowFolderOptions folder{.dense_columns = dense_columns_,
                            .features = {},
                            .id_type = id_type_,
                            .shard_rows = options_.shard_rows,
                            .made = HowMade(options_, preparation_)};
    for (const PreprocessedFeature& f : report_.features)
      folder.features.push_back({f.name, f.table_rows});
    return std::make_unique<RowFolderWriter>(options_.output, folder);
  }

  // For npy, each input's number of rows goes to files of their own, also after a shuffle.
  void Write(const StoredRow& row) {
    while (writer_ == nullptr || (options_.to == PreprocessOutput::kNpy &&
                                  written_in_input_ == report_.inputs[input_].rows))
      NextWriter();
    writer_->Append(row);
    ++written_in_input_;
    if (++written_ % kReportRows == 0)
      Report("writing", static_cast<double>(written_) / static_cast<double>(report_.rows),
             written_);
  }

  void NextWriter() {
    if (writer_ != nullptr) ++input_;
    if (writer_ != nullptr) writers_.push_back(std::move(writer_));
    writer_ = MakeWriter(input_);
    written_in_input_ = 0;
  }

  // Row `row` of input `input`, in `dense` and `ids`.
  StoredRow RowOf(size_t input, int64_t row, std::vector<float>& dense,
                  std::vector<int64_t>& ids) const {
    dense.clear();
    ids.clear();
    for (const double x : spool_->dense(row))
      dense.push_back(transforms_[input](x, smallest_[input]));
    for (size_t f = 0; f < columns_.size(); ++f) ids.push_back(IdOf(f, row));
    return {.label = spool_->label(row), .dense = dense, .ids = ids};
  }

  // fn(row) for the rows of some inputs.
  template <typename Fn>
  void ForEachRow(size_t begin, size_t end, Fn&& fn) {
    std::vector<float> dense;
    std::vector<int64_t> ids;
    for (size_t i = begin; i < end; ++i) {
      const PreprocessedInput& input = report_.inputs[i];
      for (int64_t row = input.first_row; row < input.first_row + input.rows; ++row)
        fn(RowOf(i, row, dense, ids));
    }
  }

  void WriteShuffled(size_t inputs) {
    RowRecord record(dense_columns_, static_cast<int64_t>(columns_.size()));
    RowShuffler shuffler(spool_->folder(), options_.memory_bytes, options_.seed);
    ForEachRow(0, inputs, [&](const StoredRow& row) { shuffler.Add(record.Pack(row)); });
    shuffler.Drain([&](std::span<const char> packed) { Write(record.Unpack(packed)); });
  }

  void WriteRows() {
    const size_t all = options_.inputs.size();
    const size_t shuffled = !options_.shuffle ? 0 : options_.keep_last ? all - 1 : all;
    if (shuffled > 0) WriteShuffled(shuffled);
    ForEachRow(shuffled, all, [&](const StoredRow& row) { Write(row); });
    while (options_.to == PreprocessOutput::kNpy && input_ + 1 < all) NextWriter();  // empty ones
    writers_.push_back(std::move(writer_));
    for (const auto& writer : writers_) writer->Prepare();
    for (const auto& writer : writers_) writer->Withdraw();
    for (const auto& writer : writers_) writer->Finish();
  }

  void Report(const char* step, std::optional<double> fraction, int64_t rows) const {
    on_progress_({.step = step, .fraction = fraction, .rows = rows});
  }

  const PreprocessOptions& options_;
  const std::function<void(const PreprocessProgress&)>& on_progress_;
  PreprocessReport report_;
  std::vector<std::string> columns_;
  int64_t dense_columns_ = 0;
  std::optional<ColumnSpool> spool_;
  std::vector<DenseTransform> transforms_;     // of each input
  std::vector<double> smallest_;               // number of each input
  std::optional<RowPreparation> preparation_;  // of the rows; absent where an input's is unknown
  uint64_t numbering_ = 0;                     // a hash of the numbers of contiguous ids
  DType id_type_ = DType::kI32;
  std::vector<std::unique_ptr<RowWriter>> writers_;  // done but for Finish
  std::unique_ptr<RowWriter> writer_;
  size_t input_ = 0;  // that writer_ is of
  int64_t written_ = 0, written_in_input_ = 0;
};

}  // namespace

std::optional<double> ShareOfInputs(size_t which, size_t inputs, std::optional<double> share) {
  if (!share) return {};
  return (static_cast<double>(which) + *share) / static_cast<double>(inputs);
}

void CheckShuffle(bool shuffle, bool keep_last, size_t inputs) {
  if (keep_last && (!shuffle || inputs < 2))
    throw Error(
        "keeping the last input as it is means to shuffle the others: it needs a shuffle "
        "and two inputs or more");
}

PreprocessReport Preprocess(const PreprocessOptions& options,
                            const std::function<void(const PreprocessProgress&)>& on_progress) {
  return Preprocessor(options, on_progress).Run();
}

}  // namespace tessera
