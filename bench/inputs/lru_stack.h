#ifndef TESSERA_BENCH_INPUTS_LRU_STACK_H_
#define TESSERA_BENCH_INPUTS_LRU_STACK_H_
// Rows in the order of their last use. A use takes a slot at the end; a tree of counts over the
// slots (Fenwick) finds the depth of a row, and the row at a depth, in O(log rows). Slots left
// empty are closed when half of them or more are.
#include <cstdint>
#include <vector>

namespace tessera::bench {

class LruStack {
 public:
  LruStack() { Renumber(); }

  int64_t size() const { return size_; }
  // Number of rows used since this row was; −1 if it never was.
  int64_t Depth(int64_t row) const;
  // Row with `depth` rows used since. REQUIRES: 0 <= depth < size().
  int64_t RowAt(int64_t depth) const;
  // Puts a row on top, whether it was there or not. REQUIRES: rows are numbered densely from 0.
  void Use(int64_t row);

 private:
  int64_t capacity() const { return static_cast<int64_t>(rows_.size()); }
  void Add(int64_t slot, int64_t change);
  void Renumber();

  std::vector<int64_t> rows_;   // [capacity] row of a slot, −1: empty
  std::vector<int64_t> tree_;   // [capacity + 1]
  std::vector<int64_t> slots_;  // [rows seen] slot of a row, −1: none
  int64_t next_ = 0, size_ = 0;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_INPUTS_LRU_STACK_H_
