#include "bench/inputs/lru_stack.h"

#include <algorithm>
#include <bit>

namespace tessera::bench {

int64_t LruStack::Depth(int64_t row) const {
  if (row >= static_cast<int64_t>(slots_.size()) || slots_[static_cast<size_t>(row)] < 0) return -1;
  int64_t before = 0;
  for (int64_t i = slots_[static_cast<size_t>(row)] + 1; i > 0; i -= i & -i)
    before += tree_[static_cast<size_t>(i)];
  return size_ - before;
}

int64_t LruStack::RowAt(int64_t depth) const {
  int64_t slot = 0, before = size_ - 1 - depth;  // rows below the one sought
  for (int64_t step = capacity(); step > 0; step /= 2) {
    const auto next = static_cast<size_t>(slot + step);
    if (next >= tree_.size() || tree_[next] > before) continue;
    slot += step;
    before -= tree_[next];
  }
  return rows_[static_cast<size_t>(slot)];
}

void LruStack::Use(int64_t row) {
  if (next_ == capacity()) Renumber();
  if (row >= static_cast<int64_t>(slots_.size())) slots_.resize(static_cast<size_t>(row + 1), -1);
  int64_t& slot = slots_[static_cast<size_t>(row)];
  if (slot >= 0) {
    rows_[static_cast<size_t>(slot)] = -1;
    Add(slot, -1);
    --size_;
  }
  slot = next_++;
  rows_[static_cast<size_t>(slot)] = row;
  Add(slot, 1);
  ++size_;
}

void LruStack::Add(int64_t slot, int64_t change) {
  for (int64_t i = slot + 1; i <= capacity(); i += i & -i) tree_[static_cast<size_t>(i)] += change;
}

void LruStack::Renumber() {
  std::erase(rows_, -1);
  next_ = size_;
  const uint64_t slots = std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(2 * size_, 1024)));
  rows_.resize(slots, -1);
  tree_.assign(slots + 1, 0);
  for (int64_t slot = 0; slot < next_; ++slot)
    slots_[static_cast<size_t>(rows_[static_cast<size_t>(slot)])] = slot;
  for (int64_t i = 1; i <= capacity(); ++i) {
    tree_[static_cast<size_t>(i)] += i <= next_;
    const int64_t above = i + (i & -i);
    if (above <= capacity()) tree_[static_cast<size_t>(above)] += tree_[static_cast<size_t>(i)];
  }
}

}  // namespace tessera::bench
