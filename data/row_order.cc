#include "data/row_order.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/check.h"
#include "runtime/numbers/random.h"

namespace tessera {
namespace {

constexpr int kEpochShift =
    32;  // of sequences: each epoch has one for its blocks and 2^32 - 1 more

uint64_t BlockSequence(int64_t epoch) { return static_cast<uint64_t>(epoch) << kEpochShift; }

}  // namespace

void CheckOptions(const ShuffleOptions& options) {
  if (options.window_rows < 1)
    throw Error(Format("shuffle window_rows: expected 1 or more, got {}", options.window_rows));
  if (options.block_rows < 1)
    throw Error(Format("shuffle block_rows: expected 1 or more, got {}", options.block_rows));
}

uint64_t WindowSequence(int64_t epoch, int64_t window) {
  return BlockSequence(epoch) + static_cast<uint64_t>(window) + 1;
}

void Shuffle(uint64_t seed, uint64_t sequence, std::span<int64_t> numbers) {
  for (size_t i = numbers.size(); i > 1; --i) {
    const PhiloxBits bits = Philox(seed, sequence, i);
    const auto other =
        static_cast<size_t>(UniformBelow(static_cast<int64_t>(i), bits.v[0], bits.v[1]));
    std::swap(numbers[i - 1], numbers[other]);
  }
}

RowOrder::RowOrder(RowRange range, const std::optional<ShuffleOptions>& shuffle, int64_t epoch)
    : range_(range), shuffle_(shuffle), epoch_(epoch) {
  TESSERA_CHECK_NE(range.last, RowRange::kEnd, "end of the rows");
  if (!shuffle_) return;
  CheckOptions(*shuffle_);
  shuffle_->block_rows = std::min(shuffle_->block_rows, shuffle_->window_rows);
  blocks_a_window_ = shuffle_->window_rows / shuffle_->block_rows;
  order_.resize(static_cast<size_t>((size() + shuffle_->block_rows - 1) / shuffle_->block_rows));
  std::iota(order_.begin(), order_.end(), 0);
  Shuffle(shuffle_->seed, BlockSequence(epoch_), order_);
  short_block_ = std::find(order_.begin(), order_.end(), blocks() - 1) - order_.begin();
}

int64_t RowOrder::RowsInBlock(int64_t block) const {
  return std::min(shuffle_->block_rows, size() - block * shuffle_->block_rows);
}

int64_t RowOrder::WindowBegin(int64_t window) const {
  const int64_t block = std::min(window * blocks_a_window_, blocks());
  const int64_t lacking =
      short_block_ < block ? shuffle_->block_rows - RowsInBlock(blocks() - 1) : 0;
  return block * shuffle_->block_rows - lacking;
}

void RowOrder::LoadWindow(int64_t window) {
  window_ = window;
  window_begin_ = WindowBegin(window);
  window_rows_.clear();
  const int64_t end = std::min((window + 1) * blocks_a_window_, blocks());
  for (int64_t b = window * blocks_a_window_; b < end; ++b) {
    const int64_t block = order_[static_cast<size_t>(b)];
    const int64_t first = range_.first + block * shuffle_->block_rows;
    for (int64_t i = 0; i < RowsInBlock(block); ++i) window_rows_.push_back(first + i);
  }
  Shuffle(shuffle_->seed, WindowSequence(epoch_, window), window_rows_);
}

void RowOrder::Rows(int64_t position, std::span<int64_t> rows) {
  TESSERA_CHECK(position >= 0 && position + static_cast<int64_t>(rows.size()) <= size(),
                "places {} to {} of {} rows", position,
                position + static_cast<int64_t>(rows.size()), size());
  if (!shuffle_) {
    std::iota(rows.begin(), rows.end(), range_.first + position);
    return;
  }
  for (int64_t& row : rows) {
    int64_t window = position / (blocks_a_window_ * shuffle_->block_rows);
    if (WindowBegin(window + 1) <= position) ++window;  // a short block came before
    if (window != window_) LoadWindow(window);
    row = window_rows_[static_cast<size_t>(position++ - window_begin_)];
  }
}

}  // namespace tessera
