#ifndef TESSERA_DATA_ROW_ORDER_H_
#define TESSERA_DATA_ROW_ORDER_H_
// The order in which an epoch reads the rows [first, last) of a data set.
//
// Without shuffling, rows keep their order. Shuffling cuts the rows into blocks, so that reads stay
// contiguous, and puts the blocks in random order; it then puts the rows of each window of
// window_rows / block_rows successive blocks in random order. With one window that is a uniform
// permutation. The order depends only on the rows, the options and the epoch, and any place in it
// is found without computing those before.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/click_row_stream.h"

namespace tessera {

struct ShuffleOptions {
  uint64_t seed = 1;
  int64_t window_rows = 1 << 18;  // that are mixed in memory
  int64_t block_rows = 1 << 8;    // that lie together in the file

  friend bool operator==(const ShuffleOptions&, const ShuffleOptions&) = default;
};

// Throws Error for numbers below 1.
void CheckOptions(const ShuffleOptions& options);

// The sequence of random numbers that a window of an epoch is shuffled by. REQUIRES: 0 ≤ epoch <
// 2^20, 0 ≤ window < 2^32 - 1.
uint64_t WindowSequence(int64_t epoch, int64_t window);

// Puts the numbers in random order (Fisher and Yates); each `sequence` of a seed is one order.
void Shuffle(uint64_t seed, uint64_t sequence, std::span<int64_t> numbers);

class RowOrder {
 public:
  // REQUIRES: the range has an end, 0 ≤ epoch.
  RowOrder(RowRange range, const std::optional<ShuffleOptions>& shuffle, int64_t epoch);

  int64_t size() const { return range_.last - range_.first; }
  // The rows at places [position, position + rows.size()). Fast where calls go on from each other.
  // REQUIRES: they lie in [0, size()).
  void Rows(int64_t position, std::span<int64_t> rows);

 private:
  int64_t blocks() const { return static_cast<int64_t>(order_.size()); }
  int64_t RowsInBlock(int64_t block) const;
  // Begin of a window, of which blocks_a_window_ blocks are one.
  int64_t WindowBegin(int64_t window) const;
  void LoadWindow(int64_t window);

  RowRange range_;
  std::optional<ShuffleOptions> shuffle_;
  int64_t epoch_;
  int64_t blocks_a_window_ = 0;
  std::vector<int64_t> order_;  // of the blocks
  int64_t short_block_ = 0;     // place in order_ of the last, maybe shorter block
  int64_t window_ = -1;         // in window_rows_
  int64_t window_begin_ = 0;
  std::vector<int64_t> window_rows_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_ROW_ORDER_H_
