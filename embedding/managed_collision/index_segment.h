#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_SEGMENT_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_SEGMENT_H_
// Private to managed_collision: 3,072 slots of a GrowingIndex, in groups that fill one cache line.
//
//   group   tags [12]  spare [3]  overflow  rows [12]        64 bytes
//   tag     1 and the 7 lowest bits of the id's hash; 0: the slot is empty
//   home    bits 8 to 15 of the hash; a full group sends an id on to the next one, round the end
//
// overflow counts the ids that went past the group; a search ends at a group with none. At 255 it
// stays (a split, which fills new segments, counts anew). So there are no tombstones. A tag that is
// equal says no more than that: the id itself stands beside the row.
#include <array>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tessera::internal {

struct alignas(64) IndexGroup {
  static constexpr int kSlots = 12;
  uint8_t tags[kSlots] = {};
  uint8_t spare[3] = {};
  uint8_t overflow = 0;
  uint32_t rows[kSlots] = {};

  // Bit i: tag i is `tag`.
  unsigned Match(uint8_t tag) const {
#if defined(__SSE2__)
    const __m128i all = _mm_load_si128(reinterpret_cast<const __m128i*>(tags));
    const __m128i same = _mm_cmpeq_epi8(all, _mm_set1_epi8(static_cast<char>(tag)));
    return static_cast<unsigned>(_mm_movemask_epi8(same)) & ((1u << kSlots) - 1);
#else
    unsigned same = 0;
    for (int i = 0; i < kSlots; ++i) same |= static_cast<unsigned>(tags[i] == tag) << i;
    return same;
#endif
  }
};
static_assert(sizeof(IndexGroup) == 64);

inline uint8_t TagOf(uint64_t hash) { return static_cast<uint8_t>(hash | 0x80); }

class IndexSegment {
 public:
  static constexpr size_t kGroups = 256;
  // At this many ids a segment splits: at 7/8 of its slots at most, where few ids leave their home.
  // Hashes fill all segments alike; so that they do not all split together, each has a limit of its
  // own.
  static constexpr int64_t kMaxUsed = static_cast<int64_t>(kGroups) * IndexGroup::kSlots * 7 / 8;
  static constexpr uint64_t kLimitSpread = 600;

  // depth: leading bits of the hash that all ids here have in common. number: of the segment.
  IndexSegment(int depth, uint64_t number)
      : limit_(kMaxUsed - static_cast<int64_t>(number * 0x9e3779b97f4a7c15ull % kLimitSpread)),
        depth_(depth) {}

  int depth() const { return depth_; }
  bool full() const { return used_ >= limit_; }
  const IndexGroup& group(size_t i) const { return groups_[i]; }
  const IndexGroup& Home(uint64_t hash) const { return groups_[HomeOf(hash)]; }

  // The row of the id with this hash, or −1. is_row(row): whether the row is the id's.
  template <typename IsRowOfId>
  int64_t Find(uint64_t hash, IsRowOfId&& is_row) const {
    for (size_t g = HomeOf(hash), n = 0; n < kGroups; g = Next(g), ++n) {
      const IndexGroup& group = groups_[g];
      for (unsigned same = group.Match(TagOf(hash)); same != 0; same &= same - 1)
        if (const uint32_t row = group.rows[__builtin_ctz(same)]; is_row(row)) return row;
      if (group.overflow == 0) return -1;
    }
    return -1;
  }

  // REQUIRES: a slot is empty, and the id is not here.
  void Insert(uint64_t hash, uint32_t row) {
    size_t g = HomeOf(hash);
    unsigned empty = groups_[g].Match(0);
    for (; empty == 0; g = Next(g), empty = groups_[g].Match(0))
      groups_[g].overflow += groups_[g].overflow < kSaturated;
    const int slot = __builtin_ctz(empty);
    groups_[g].tags[slot] = TagOf(hash);
    groups_[g].rows[slot] = row;
    ++used_;
  }

  // REQUIRES: the row is here, under this hash.
  void Erase(uint64_t hash, uint32_t row) {
    for (size_t g = HomeOf(hash);; g = Next(g)) {
      IndexGroup& group = groups_[g];
      for (unsigned same = group.Match(TagOf(hash)); same != 0; same &= same - 1)
        if (const int slot = __builtin_ctz(same); group.rows[slot] == row) {
          group.tags[slot] = 0;
          --used_;
          return;
        }
      group.overflow -= group.overflow < kSaturated;
    }
  }

 private:
  static constexpr uint8_t kSaturated = 255;
  static size_t HomeOf(uint64_t hash) { return hash >> 8 & (kGroups - 1); }
  static size_t Next(size_t group) { return (group + 1) & (kGroups - 1); }

  std::array<IndexGroup, kGroups> groups_;
  int64_t used_ = 0, limit_;
  int depth_;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_SEGMENT_H_
