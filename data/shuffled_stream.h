#ifndef TESSERA_DATA_SHUFFLED_STREAM_H_
#define TESSERA_DATA_SHUFFLED_STREAM_H_
// Another stream's rows, put in random order within windows of window_rows numbers, which are kept
// in memory: what can be done with text, which is read from its beginning. A window begins every
// window_rows rows, counted from the range's first, bad ones included, so that any place can be
// begun at: the window's rows before it are read and left out. next_row counts places, as if the
// rows lay in this order.
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "data/click_row_stream.h"
#include "data/row_order.h"

namespace tessera {

template <typename Row>
class ShuffledRows final : public RowStream<Row> {
 public:
  // Opens the range's rows from one on.
  using Open = std::function<std::unique_ptr<RowStream<Row>>(int64_t from)>;
  // Streams from place `first_place` of the epoch on; `open` is called once, for the rows from a
  // window's first on.
  ShuffledRows(const Open& open, RowRange range, const ShuffleOptions& shuffle, int64_t epoch,
               int64_t first_place);

  bool Next(Row& row) override;
  int64_t next_row() const override { return window_begin_ + static_cast<int64_t>(next_); }
  // Takes each row of a window to have as many bytes.
  std::optional<double> fraction() const override;
  // Those of the windows before the place: a stream that begins at it reads its window.
  int64_t SkippedBefore(int64_t place) override;

 private:
  // Reads the rows of a window. False if none are left, in this window or after it.
  bool LoadWindow(int64_t window);

  const RowRange range_;
  const ShuffleOptions shuffle_;
  const int64_t epoch_;
  std::unique_ptr<RowStream<Row>> stream_;
  int64_t window_ = 0, window_begin_ = 0;
  std::vector<Row> rows_;                                // of the window
  std::vector<int64_t> order_;                           // in which they are given out
  size_t next_ = 0;                                      // in order_
  std::optional<double> fraction_begin_, fraction_end_;  // of the stream, at the window's ends
  Row ahead_;                                            // read, but of a later window
  int64_t ahead_number_ = -1;                            // its row; -1: none
};

using ShuffledStream = ShuffledRows<ClickRow>;
using ShuffledLines = ShuffledRows<TextLine>;

}  // namespace tessera
#endif  // TESSERA_DATA_SHUFFLED_STREAM_H_
