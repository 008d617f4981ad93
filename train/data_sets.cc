#include "train/data_sets.h"

#include <algorithm>

#include "train/data/batch_source.h"
#include "train/data/criteo_stream.h"
#include "train/data/planted_stream.h"
#include "train/data/read_ahead.h"
#include "train/optimum.h"

namespace tessera {
namespace {

// Evaluation learns nothing from a batch, so that its size is a matter of speed alone.
constexpr int64_t kEvalBatch = 2048;

bool Overlap(const RowRange& a, const RowRange& b) { return a.first < b.last && b.first < a.last; }

}  // namespace

DataSets::DataSets(const TrainConfig& config, DataSelection selection)
    : data_(config.data),
      selection_(std::move(selection)),
      builder_(Features(config), config.data.missing),
      batch_size_(config.batch_size) {
  if (selection_.files.empty() && data_.format == DataFormat::kPlanted)
    planted_ = std::make_shared<const ClickModel>(data_.planted);
  CheckSelection();
}

void DataSets::CheckSelection() const {
  if (planted_ == nullptr && selection_.files.empty())
    throw Error("no data: give --data FILE with Criteo rows");
  if (planted_ == nullptr) LineReader probe(selection_.files);
  if (!selection_.eval_files.empty()) LineReader probe(selection_.eval_files);
  const auto eval_rows = EvalRows();
  if (!eval_rows || !selection_.eval_files.empty() || !Overlap(TrainRows(), *eval_rows)) return;
  throw Error(
      Format("rows {} are for training and rows {} for evaluation, but no row may be both; choose "
             "with --train-rows "
             "and --eval-rows",
             TrainRows(), *eval_rows));
}

RowRange DataSets::TrainRows() const {
  RowRange rows = selection_.train_rows.value_or(RowRange{});
  if (planted_ != nullptr && rows.last == RowRange::kEnd)
    rows.last = std::max(data_.rows, rows.first);
  return rows;
}

std::optional<RowRange> DataSets::EvalRows() const {
  const bool of_planted = planted_ != nullptr && selection_.eval_files.empty();
  const int64_t planted_end = data_.rows + data_.eval_rows;
  if (selection_.eval_rows) {
    RowRange rows = *selection_.eval_rows;
    if (of_planted && rows.last == RowRange::kEnd) rows.last = std::max(planted_end, rows.first);
    return rows;
  }
  if (!selection_.eval_files.empty()) return RowRange{};
  if (of_planted && data_.eval_rows > 0) return RowRange{data_.rows, planted_end};
  return std::nullopt;
}

std::unique_ptr<DataSource> DataSets::Open(const std::vector<std::string>& files, RowRange rows,
                                           int64_t batch_size) const {
  std::unique_ptr<ClickRowStream> stream;
  if (files.empty())
    stream = std::make_unique<PlantedStream>(planted_, rows);
  else
    stream = std::make_unique<CriteoStream>(CriteoFiles{files, selection_.skip_bad_lines}, rows);
  return std::make_unique<ReadAhead>(
      std::make_unique<BatchSource>(std::move(stream), builder_, batch_size));
}

std::unique_ptr<DataSource> DataSets::OpenTrain(int64_t first_row) const {
  RowRange rows = TrainRows();
  rows.first = std::max(rows.first, first_row);
  return Open(selection_.files, rows, batch_size_);
}

std::unique_ptr<DataSource> DataSets::OpenEval() const {
  const auto rows = EvalRows();
  if (!rows) return nullptr;
  return Open(selection_.eval_files.empty() ? selection_.files : selection_.eval_files, *rows,
              kEvalBatch);
}

std::optional<MetricValues> DataSets::Optimum() const {
  const auto rows = EvalRows();
  if (planted_ == nullptr || !selection_.eval_files.empty() || !rows) return std::nullopt;
  return OptimumOf(*planted_, *rows);
}

}  // namespace tessera
