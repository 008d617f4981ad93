#include "data/shuffled_stream.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera {
namespace {

int64_t WindowBegin(const RowRange& range, const ShuffleOptions& shuffle, int64_t window) {
  return range.first + window * shuffle.window_rows;
}

}  // namespace

template <typename Row>
ShuffledRows<Row>::ShuffledRows(const Open& open, RowRange range, const ShuffleOptions& shuffle,
                                int64_t epoch, int64_t first_place)
    : range_(range), shuffle_(shuffle), epoch_(epoch) {
  CheckOptions(shuffle);
  const int64_t place = std::max(first_place, range.first);
  window_ = (place - range.first) / shuffle.window_rows;
  window_begin_ = WindowBegin(range, shuffle, window_);
  stream_ = open(window_begin_);
  LoadWindow(window_);
  next_ = static_cast<size_t>(place - window_begin_);
  if (next_ > order_.size())
    throw Error(Format("row {} was asked for, but the data has {}", place,
                       internal::Counted(window_begin_ + std::ssize(order_), "row")));
}

template <typename Row>
bool ShuffledRows<Row>::LoadWindow(int64_t window) {
  window_ = window;
  window_begin_ = WindowBegin(range_, shuffle_, window);
  const int64_t end = WindowBegin(range_, shuffle_, window + 1);
  rows_.clear();
  next_ = 0;
  bool more = true;
  while (true) {
    if (ahead_number_ < 0) {
      more = stream_->Next(ahead_);
      if (!more) break;
      ahead_number_ = stream_->next_row() - 1;
    }
    if (rows_.empty()) fraction_begin_ = stream_->fraction();
    if (ahead_number_ >= end) break;
    rows_.push_back(std::move(ahead_));
    ahead_number_ = -1;
  }
  fraction_end_ = stream_->fraction();
  order_.resize(rows_.size());
  std::iota(order_.begin(), order_.end(), 0);
  Shuffle(shuffle_.seed, WindowSequence(epoch_, window), order_);
  return more || !rows_.empty();
}

template <typename Row>
std::optional<double> ShuffledRows<Row>::fraction() const {
  if (!fraction_begin_ || !fraction_end_ || order_.empty()) return fraction_end_;
  const double part = static_cast<double>(next_) / static_cast<double>(order_.size());
  return std::lerp(*fraction_begin_, *fraction_end_, part);
}

template <typename Row>
int64_t ShuffledRows<Row>::SkippedBefore(int64_t place) {
  const int64_t window = (place - range_.first) / shuffle_.window_rows;
  return stream_->SkippedBefore(WindowBegin(range_, shuffle_, window));
}

template <typename Row>
bool ShuffledRows<Row>::Next(Row& row) {
  while (next_ == order_.size())
    if (!LoadWindow(window_ + 1)) return false;
  row = std::move(rows_[static_cast<size_t>(order_[next_++])]);
  return true;
}

template class ShuffledRows<ClickRow>;
template class ShuffledRows<TextLine>;

}  // namespace tessera
