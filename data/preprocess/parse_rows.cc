#include "data/preprocess/parse_rows.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "data/files/expand_paths.h"
#include "data/files/row_folder_index.h"
#include "data/files/text_file.h"
#include "data/preprocess/bag_folder_writer.h"
#include "data/preprocess/block_row.h"
#include "data/preprocess/row_shuffler.h"
#include "data/rows/text_row_reader.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr int64_t kBlockRows = 1024;  // of shuffled rows that are written together

class RowsParser {
 public:
  RowsParser(const ParseRowsOptions& options,
             const std::function<void(const PreprocessProgress&)>& on_progress)
      : options_(options),
        on_progress_(on_progress),
        inputs_(ExpandPaths(options.inputs)),
        rules_(std::make_shared<const RowRules>(options.schema, options.features)) {}

  ParseRowsReport Run() {
    CheckShuffle(options_.shuffle, options_.keep_last, inputs_.size());
    for (const std::string& path : inputs_) CheckInput(path);
    for (size_t i = 0; i < inputs_.size(); ++i) ReadInput(i);
    WriteShuffled();
    if (writer_ == nullptr)
      throw Error(Format("{}: there are no rows", inputs_.empty() ? "" : inputs_.front()));
    writer_->Finish();
    for (const CategoricalFeature& feature : options_.features)
      report_.rows.features.push_back(
          {.name = feature.name, .table_rows = CheckedHashSize(feature)});
    return std::move(report_);
  }

 private:
  // A file that is not there is an error before anything is written.
  static void CheckInput(const std::string& path) {
    if (IsRowFolder(path))
      throw Error(
          Format("{}: it is a folder of rows that were parsed before: expected text", path));
    if (CanReadAgain(path)) TextFile probe(path);
  }

  void ReadInput(size_t which) {
    const bool stays = options_.keep_last && which + 1 == inputs_.size();
    if (stays) WriteShuffled();
    TextRowReader reader(rules_, {.paths = {inputs_[which]},
                                  .skip_bad_lines = options_.skip_bad_lines,
                                  .threads = options_.threads,
                                  .unknown_items = report_.unknown_items});
    PreprocessedInput& input = report_.rows.inputs.emplace_back();
    input = {.path = inputs_[which], .first_row = report_.rows.rows};
    while (const auto block = reader.Next()) {
      Write(*block, options_.shuffle && !stays);
      input.rows += block->rows();
      report_.rows.rows += block->rows();
      on_progress_({.step = "parsing",
                    .fraction = ShareOfInputs(which, inputs_.size(), reader.fraction()),
                    .rows = report_.rows.rows});
    }
    report_.rows.skipped_rows += reader.skipped_rows();
    for (const auto& [reason, count] : reader.skipped()) report_.skipped[reason] += count;
  }

  // The folder is made only when there is something to write.
  void Write(const RowBlock& block, bool shuffled) {
    if (block.rows() == 0) return;
    if (writer_ == nullptr)
      writer_ = std::make_unique<BagFolderWriter>(
          options_.output, rules_, options_.features,
          BagFolderOptions{.shard_rows = options_.shard_rows,
                           .shard_bytes = std::max<int64_t>(1, options_.memory_bytes / 4),
                           .made = HowMade()});
    if (!shuffled) return writer_->Append(block);
    if (!shuffler_)
      shuffler_.emplace(options_.output, std::max<int64_t>(1, options_.memory_bytes / 4),
                        options_.seed);
    for (int64_t row = 0; row < block.rows(); ++row) shuffler_->Add(PackRow(block, layout(), row));
    rows_to_shuffle_ += block.rows();
  }

  // Writes what was kept to be shuffled.
  void WriteShuffled() {
    if (!shuffler_) return;
    RowBlock block = EmptyBlock(layout());
    int64_t rows = 0;
    shuffler_->Drain([&](std::span<const char> packed) {
      UnpackRow(packed, layout(), block);
      ++rows;
      if (block.rows() < kBlockRows && rows < rows_to_shuffle_) return;
      writer_->Append(block);
      block = EmptyBlock(layout());
      on_progress_({.step = "writing",
                    .fraction = static_cast<double>(rows) / static_cast<double>(rows_to_shuffle_),
                    .rows = rows});
    });
    shuffler_.reset();
  }

  const RowColumns& layout() const { return rules_->layout(); }

  std::vector<std::pair<std::string, std::string>> HowMade() const {
    std::vector<std::pair<std::string, std::string>> made;
    for (const std::string& path : inputs_) made.emplace_back(InputName(path), path);
    if (options_.shuffle) made.emplace_back("shuffle_seed", std::to_string(options_.seed));
    return made;
  }

  const ParseRowsOptions& options_;
  const std::function<void(const PreprocessProgress&)>& on_progress_;
  std::vector<std::string> inputs_;
  std::shared_ptr<const RowRules> rules_;
  std::unique_ptr<BagFolderWriter> writer_;
  std::optional<RowShuffler> shuffler_;
  int64_t rows_to_shuffle_ = 0;
  ParseRowsReport report_;
};

}  // namespace

ParseRowsReport ParseRows(const ParseRowsOptions& options,
                          const std::function<void(const PreprocessProgress&)>& on_progress) {
  return RowsParser(options, on_progress).Run();
}

}  // namespace tessera
