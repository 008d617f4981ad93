#include "data/rows/text_row_source.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/rank_rows.h"
#include "data/skipped_rows.h"
#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera {
namespace {

Batch BatchOfBlocks(Context& ctx, const RowColumns& layout,
                    std::span<const std::shared_ptr<const RowBlock>> blocks) {
  std::vector<RowRun> runs;
  for (const auto& block : blocks) runs.push_back({block.get(), 0, block->rows()});
  return BatchOfRuns(ctx, layout, runs);
}

}  // namespace

// Gives out rows one after the other; their blocks stay until Release.
class TextRowSource::Feed {
 public:
  Feed(std::shared_ptr<const RowRules> rules, const RowFiles& files, RowRange range, int64_t from)
      : reader_(std::move(rules), files, range, from) {}
  virtual ~Feed() = default;
  // The next row of a block; false after the last.
  virtual bool Next(const RowBlock*& block, int64_t& row) = 0;
  // The number after the row that Next gave last.
  virtual int64_t next_row() const = 0;
  // About what share of the data's bytes, from the range's first row on, was given out.
  virtual std::optional<double> fraction() const = 0;
  // Nobody needs the rows that were given out.
  virtual void Release() = 0;
  // The first row that whoever begins at this place reads.
  virtual int64_t FirstRead(int64_t place) const = 0;

  TextRowReader& reader() { return reader_; }
  SkippedRows& skipped() { return skipped_; }

 protected:
  std::shared_ptr<const RowBlock> NextBlock() {
    auto block = reader_.Next();
    if (block == nullptr) return nullptr;
    for (const auto& [reason, rows] : block->skipped)
      for (const int64_t row : rows) skipped_.Add(row, reason);
    return block;
  }

 private:
  TextRowReader reader_;
  SkippedRows skipped_;
};

class TextRowSource::Plain final : public Feed {
 public:
  using Feed::Feed;

  bool Next(const RowBlock*& block, int64_t& row) override {
    while (blocks_.empty() || next_ == blocks_.back()->rows()) {
      auto more = NextBlock();
      if (more == nullptr) return false;
      blocks_.push_back(std::move(more));
      next_ = 0;
    }
    block = blocks_.back().get();
    row = next_++;
    next_row_ = block->numbers[static_cast<size_t>(row)] + 1;
    return true;
  }
  int64_t next_row() const override { return next_row_; }
  std::optional<double> fraction() const override {
    return blocks_.back()->share.Before(next_row());
  }
  void Release() override {
    if (blocks_.size() > 1) blocks_.erase(blocks_.begin(), blocks_.end() - 1);
  }
  int64_t FirstRead(int64_t place) const override { return place; }

 private:
  std::vector<std::shared_ptr<const RowBlock>> blocks_;  // rows are given out of the last
  int64_t next_ = 0;
  int64_t next_row_ = 0;  // the last block may have no rows
};

class TextRowSource::Shuffled final : public Feed {
 public:
  Shuffled(std::shared_ptr<const RowRules> rules, const RowFiles& files,
           const TextRowSourceOptions& options, int64_t window)
      : Feed(std::move(rules), files, options.range, Begin(options, window)), options_(options) {
    LoadWindow(window);
    const int64_t place = std::max(options.first_place, options.range.first);
    next_ = static_cast<size_t>(place - window_begin_);
    if (next_ > order_.size())
      throw Error(Format("row {} was asked for, but the data has {}", place,
                         internal::Counted(window_begin_ + std::ssize(order_), "row")));
  }

  // The window of the place to begin at.
  static int64_t FirstWindow(const TextRowSourceOptions& options) {
    CheckOptions(*options.shuffle);
    return WindowOf(options, std::max(options.first_place, options.range.first));
  }

  bool Next(const RowBlock*& block, int64_t& row) override {
    while (next_ == order_.size())
      if (!LoadWindow(window_ + 1)) return false;
    std::tie(block, row) = rows_[static_cast<size_t>(order_[next_++])];
    return true;
  }
  int64_t next_row() const override { return window_begin_ + static_cast<int64_t>(next_); }
  // Takes each row of a window, which come in another order, to have as many bytes.
  std::optional<double> fraction() const override {
    if (!before_ || !end_) return {};
    return std::lerp(*before_, *end_, static_cast<double>(next_) / std::ssize(order_));
  }
  void Release() override { old_.clear(); }
  int64_t FirstRead(int64_t place) const override {
    return Begin(options_, WindowOf(options_, place));
  }

 private:
  static int64_t WindowOf(const TextRowSourceOptions& options, int64_t place) {
    return (place - options.range.first) / options.shuffle->window_rows;
  }
  static int64_t Begin(const TextRowSourceOptions& options, int64_t window) {
    return options.range.first + window * options.shuffle->window_rows;
  }

  // Puts the rows of a window in order; false if none are left, in this window or after it.
  bool LoadWindow(int64_t window) {
    window_ = window;
    window_begin_ = Begin(options_, window);
    const int64_t end = Begin(options_, window + 1);
    rows_.clear();
    next_ = 0;
    old_.insert(old_.end(), blocks_.begin(), blocks_.end());
    if (!blocks_.empty()) blocks_.erase(blocks_.begin(), blocks_.end() - 1);
    while (TakeRows(end)) {
      auto more = NextBlock();
      if (more == nullptr) break;
      blocks_.push_back(std::move(more));
      taken_ = 0;
    }
    SetShare(window_begin_, end);
    order_.resize(rows_.size());
    std::iota(order_.begin(), order_.end(), 0);
    Shuffle(options_.shuffle->seed, WindowSequence(options_.epoch, window), order_);
    return !rows_.empty() || (!blocks_.empty() && taken_ < blocks_.back()->rows());
  }

  void SetShare(int64_t begin, int64_t end) {
    if (blocks_.empty()) return;
    before_ = end_ ? end_ : blocks_.front()->share.Before(begin);
    end_ = blocks_.back()->share.Before(end);
  }

  // Takes the rows of the last block before `end`; false if some are left, which are after it.
  bool TakeRows(int64_t end) {
    if (blocks_.empty()) return true;
    const RowBlock& block = *blocks_.back();
    while (taken_ < block.rows() && block.numbers[static_cast<size_t>(taken_)] < end)
      rows_.emplace_back(&block, taken_++);
    return taken_ == block.rows();
  }

  const TextRowSourceOptions options_;
  int64_t window_ = 0, window_begin_ = 0;
  std::vector<std::shared_ptr<const RowBlock>> blocks_;  // of the window
  std::vector<std::shared_ptr<const RowBlock>> old_;     // of windows before it
  int64_t taken_ = 0;                                    // rows of the last block
  std::optional<double> before_, end_;                   // shares of the data, of the window
  std::vector<std::pair<const RowBlock*, int64_t>> rows_;
  std::vector<int64_t> order_;  // in which they are given out
  size_t next_ = 0;             // in order_
};

TextRowSource::TextRowSource(std::shared_ptr<const RowRules> rules, const RowFiles& files,
                             const TextRowSourceOptions& options)
    : rules_(std::move(rules)), options_(options) {
  TESSERA_CHECK_GT(options.batch_size, 0, "batch size");
  RowFiles read = files;
  read.lines_alone = options.ranks > 1;
  if (options.shuffle)
    feed_ = std::make_unique<Shuffled>(rules_, read, options, Shuffled::FirstWindow(options));
  else
    feed_ = std::make_unique<Plain>(rules_, read, options.range, options.first_place);
}

TextRowSource::~TextRowSource() = default;

int64_t TextRowSource::skipped_rows() const { return feed_->skipped().count(); }

BadLineCounts TextRowSource::skipped_by_reason() const { return feed_->skipped().by_reason(); }

// Without an end, by bytes.
std::optional<double> TextRowSource::Fraction(int64_t end_row) const {
  const RowRange& range = options_.range;
  return range.last == RowRange::kEnd ? feed_->fraction() : range.ShareBefore(end_row);
}

Batch TextRowSource::ParsePart(int64_t rows) {
  const RankRows mine = RowsOfRank(rows, options_.rank, options_.ranks);
  const auto blocks = feed_->reader().Parse(CutRuns(runs_, mine.begin, mine.end));
  Batch part = BatchOfBlocks(feed_->reader().context(), rules_->layout(), blocks);
  part.rows_of_all = rows;
  return part;
}

std::optional<Batch> TextRowSource::Next() {
  runs_.clear();
  feed_->Release();
  int64_t first_row = 0, end_row = 0, row = 0, count = 0;
  const RowBlock* block = nullptr;
  for (; count < options_.batch_size && feed_->Next(block, row); ++count) {
    end_row = feed_->next_row();
    if (count == 0) first_row = end_row - 1;
    if (count > 0 && runs_.back().block == block && runs_.back().end == row)
      ++runs_.back().end;
    else
      runs_.push_back({block, row, row + 1});
  }
  feed_->skipped().CountBefore(feed_->FirstRead(runs_.empty() ? RowRange::kEnd : end_row));
  if (runs_.empty()) return std::nullopt;
  Context& ctx = feed_->reader().context();
  Batch batch = options_.ranks > 1 ? ParsePart(count) : BatchOfRuns(ctx, rules_->layout(), runs_);
  batch.first_row = first_row;
  batch.end_row = end_row;
  batch.fraction = Fraction(end_row);
  batch.features.Sync(ctx);  // what a device would have to be waited for
  return batch;
}

AllRows ReadAllRows(Context& ctx, std::shared_ptr<const RowRules> rules, const RowFiles& files) {
  TextRowReader reader(rules, files);
  std::vector<std::shared_ptr<const RowBlock>> blocks;
  while (auto block = reader.Next()) blocks.push_back(std::move(block));
  return {BatchOfBlocks(ctx, rules->layout(), blocks), reader.skipped_rows()};
}

}  // namespace tessera
