#ifndef TESSERA_TESTS_EMBEDDING_CACHE_PLAIN_CACHE_H_
#define TESSERA_TESTS_EMBEDDING_CACHE_PLAIN_CACHE_H_
// The row cache as plainly as can be, one row at a time: which slot each row of a batch gets, and
// what is counted.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "embedding/cache/row_cache.h"
#include "embedding/cache/row_hash.h"

namespace tessera::testing {

class PlainCache {
 public:
  using Slots = std::map<int64_t, int64_t>;  // of the rows of a batch

  PlainCache(int64_t rows, int64_t lines, int ways, CachePolicy policy)
      : rows_(rows),
        ways_(ways),
        policy_(policy),
        hash_(internal::RowHash::Of(rows)),
        lines_(static_cast<size_t>(lines)) {}

  Slots Prefetch(const std::vector<int64_t>& ids) {
    ++stats_.calls;
    std::map<uint64_t, int64_t> times;  // by hash
    for (const int64_t id : ids)
      if (id >= 0 && id < rows_) ++times[hash_(id)], ++stats_.requested;
    stats_.unique += static_cast<int64_t>(times.size());
    Slots slots;
    for (const auto& [hash, count] : times) {
      const int64_t row = hash_.RowOf(hash), slot = Find(row);
      if (slot < 0) continue;
      ++stats_.hits;
      Line& line = lines_[static_cast<size_t>(slot)];
      ++line.locks;
      line.rank = policy_ == CachePolicy::kLru ? stats_.calls : line.rank + count;
      slots[row] = slot;
    }
    for (const auto& [hash, count] : times)
      if (const int64_t row = hash_.RowOf(hash); !slots.contains(row)) Miss(row, count, slots);
    return slots;
  }

  void Release(const Slots& slots, bool updated) {
    for (const auto& [row, slot] : slots) {
      const bool in_line = slot < static_cast<int64_t>(lines_.size());
      if (in_line) --lines_[static_cast<size_t>(slot)].locks;
      if (!updated) continue;
      const int64_t home = in_line ? slot : Find(row);
      if (home >= 0)
        lines_[static_cast<size_t>(home)].dirty = true;
      else
        ++stats_.write_backs;
    }
  }

  void Flush() {
    for (Line& line : lines_) stats_.write_backs += std::exchange(line.dirty, false);
  }
  void Reset() { std::fill(lines_.begin(), lines_.end(), Line()); }

  const CacheStats& stats() const { return stats_; }

 private:
  struct Line {
    int64_t row = -1, rank = -1;
    int locks = 0;
    bool dirty = false;
  };

  int64_t FirstLine(int64_t row) const {
    const uint64_t sets = lines_.size() / static_cast<uint64_t>(ways_);
    return static_cast<int64_t>(hash_(row) * sets >> hash_.bits) * ways_;
  }
  int64_t Find(int64_t row) const {
    for (int64_t l = FirstLine(row), way = 0; way < ways_; ++way, ++l)
      if (lines_[static_cast<size_t>(l)].row == row) return l;
    return -1;
  }
  void Miss(int64_t row, int64_t count, Slots& slots) {
    ++stats_.misses;
    const auto first = lines_.begin() + FirstLine(row);
    std::vector<Line*> free;
    for (auto line = first; line != first + ways_; ++line)
      if (line->locks == 0) free.push_back(&*line);
    if (free.empty()) {
      int64_t in_scratch = 0;
      for (const auto& [r, slot] : slots) in_scratch += slot >= static_cast<int64_t>(lines_.size());
      ++stats_.conflict_misses;
      slots[row] = static_cast<int64_t>(lines_.size()) + in_scratch;
      return;
    }
    Line& line = **std::min_element(free.begin(), free.end(),
                                    [](const Line* a, const Line* b) { return a->rank < b->rank; });
    stats_.evictions += line.row >= 0;
    stats_.write_backs += line.dirty;
    line = {row, policy_ == CachePolicy::kLru ? stats_.calls : count, 1, false};
    slots[row] = &line - lines_.data();
  }

  int64_t rows_;
  int ways_;
  CachePolicy policy_;
  internal::RowHash hash_;
  std::vector<Line> lines_;
  CacheStats stats_;
};

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_EMBEDDING_CACHE_PLAIN_CACHE_H_
