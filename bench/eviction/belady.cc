#include "bench/eviction/belady.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace tessera::bench {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// The batch of the next occurrence of each occurrence's id: the same batch if the id comes again in
// it.
std::vector<int64_t> NextBatches(std::span<const int64_t> ids, size_t distinct, int64_t batch) {
  std::vector<int64_t> seen(distinct, kNever), next(ids.size());
  for (size_t i = ids.size(); i-- > 0;) {
    int64_t& at = seen[static_cast<size_t>(ids[i])];
    next[i] = at;
    at = static_cast<int64_t>(i) / batch;
  }
  return next;
}

// The ids that have rows, by the batch that names them next.
class KeptIds {
 public:
  explicit KeptIds(size_t distinct) : until_(distinct, kNever) {}

  // Whether the id had a row; it has none then.
  bool Take(int64_t id) {
    int64_t& until = until_[static_cast<size_t>(id)];
    const bool kept = until != kNever;
    count_ -= kept;
    until = kNever;
    return kept;
  }
  void Keep(int64_t id, int64_t until) {
    until_[static_cast<size_t>(id)] = until;
    latest_.emplace(until, id);
    ++count_;
  }
  // Until `capacity` are left: first those that are named last.
  void Shrink(int64_t capacity) {
    for (; count_ > capacity; latest_.pop()) {
      const auto [until, id] = latest_.top();
      // Else it was taken since.
      if (until_[static_cast<size_t>(id)] == until) Take(id);
    }
  }

 private:
  std::vector<int64_t> until_;                               // kNever: no row
  std::priority_queue<std::pair<int64_t, int64_t>> latest_;  // all there were
  int64_t count_ = 0;
};

}  // namespace

int64_t BestHits(std::span<const int64_t> ids, int64_t batch, int64_t capacity) {
  const int64_t distinct = ids.empty() ? 0 : *std::max_element(ids.begin(), ids.end()) + 1;
  const std::vector<int64_t> next = NextBatches(ids, static_cast<size_t>(distinct), batch);
  KeptIds kept(static_cast<size_t>(distinct));
  int64_t hits = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t now = static_cast<int64_t>(i) / batch;
    if (kept.Take(ids[i])) ++hits;
    if (next[i] == now) ++hits;  // the repeat's, counted here
    if (next[i] != kNever && next[i] != now) kept.Keep(ids[i], next[i]);
    if (static_cast<int64_t>(i + 1) % batch == 0) kept.Shrink(capacity);
  }
  return hits;
}

}  // namespace tessera::bench
