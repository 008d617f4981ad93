#include "planner/moved_elements.h"

#include <algorithm>

namespace tessera::internal {
namespace {

int64_t Common(int64_t begin_a, int64_t size_a, int64_t begin_b, int64_t size_b) {
  return std::max<int64_t>(
      0, std::min(begin_a + size_a, begin_b + size_b) - std::max(begin_a, begin_b));
}

// The number of elements that both shards hold.
int64_t Overlap(const Shard& a, const Shard& b) {
  return Common(a.row_offset, a.rows, b.row_offset, b.rows) *
         Common(a.column_offset, a.columns, b.column_offset, b.columns);
}

}  // namespace

std::vector<Shard> ByRank(std::vector<Shard> shards) {
  std::stable_sort(shards.begin(), shards.end(),
                   [](const Shard& a, const Shard& b) { return a.rank < b.rank; });
  return shards;
}

int64_t MovedElements(const std::vector<Shard>& held, const std::vector<Shard>& shards,
                      const std::vector<int>& ranks) {
  struct RankOrder {
    bool operator()(const Shard& shard, int rank) const { return shard.rank < rank; }
    bool operator()(int rank, const Shard& shard) const { return rank < shard.rank; }
  };
  int64_t elements = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    elements += shards[i].rows * shards[i].columns;
    const auto [begin, end] = std::equal_range(held.begin(), held.end(), ranks[i], RankOrder{});
    for (auto own = begin; own != end; ++own) elements -= Overlap(shards[i], *own);
  }
  return elements;
}

}  // namespace tessera::internal
