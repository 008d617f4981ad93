#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_INDEX_SEGMENT_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_INDEX_SEGMENT_H_
// 2,560 slots of a GrowingIndex, in groups of two neighbouring cache lines, which come from memory
// nearly as fast as one: an id is found, or found missing, by one read.
//
//   group   ids [10]  rows [10]  used  overflow  spare [2]        128 bytes
//   used    bit i: slot i has an id
//   home    bits 8 to 15 of the id's hash; a full group sends an id on to the next one, round the
//           end
//
// overflow counts the ids that went past the group; a search ends at a group with none. At its end
// the count stays (a split, which fills new segments, counts anew). So there are no tombstones.
#include <cstddef>
#include <cstdint>

#include "runtime/base/host_device.h"

namespace tessera::internal {

struct alignas(128) IndexGroup {
  static constexpr int kSlots = 10;
  int64_t ids[kSlots] = {};
  uint32_t rows[kSlots] = {};
  uint16_t used = 0;
  uint16_t overflow = 0;
  uint16_t spare[2] = {};

  // Bit i: slot i has this id. One at most.
  TESSERA_HD unsigned Match(int64_t id) const {
    unsigned same = 0;
    for (int i = 0; i < kSlots; ++i) same |= static_cast<unsigned>(ids[i] == id) << i;
    return same & used;
  }
  unsigned Empty() const { return ~unsigned{used} & ((1u << kSlots) - 1); }
};
static_assert(sizeof(IndexGroup) == 128);

class IndexSegment {
 public:
  static constexpr std::size_t kGroups = 256;
  // Number of ids at which a segment splits: at 3/4 of its slots at most, where 4 % of the ids have
  // left their home. Hashes fill all segments alike; so that they do not all split together, each
  // has a limit of its own.
  static constexpr int64_t kMaxUsed = static_cast<int64_t>(kGroups) * IndexGroup::kSlots * 3 / 4;
  static constexpr uint64_t kLimitSpread = 480;

  // depth: leading bits of the hash that all ids here have in common. number: of the segment.
  IndexSegment(int depth, uint64_t number)
      : limit_(kMaxUsed - static_cast<int64_t>(number * 0x9e3779b97f4a7c15ull % kLimitSpread)),
        depth_(depth) {}

  int depth() const { return depth_; }
  bool full() const { return used_ >= limit_; }
  TESSERA_HD const IndexGroup& Home(uint64_t hash) const { return groups_[HomeOf(hash)]; }

  // The row of the id with this hash, or −1.
  int64_t Find(uint64_t hash, int64_t id) const {
    const IndexGroup& home = Home(hash);
    if (const unsigned same = home.Match(id)) return home.rows[__builtin_ctz(same)];
    return home.overflow == 0 ? -1 : FindBeyond(hash, id);
  }
  // Finds an id that is not in its home group.
  TESSERA_HD int64_t FindBeyond(uint64_t hash, int64_t id) const {
    const std::size_t home = HomeOf(hash);
    for (std::size_t g = Next(home); g != home; g = Next(g)) {
      if (const unsigned same = groups_[g].Match(id)) return groups_[g].rows[__builtin_ctz(same)];
      if (groups_[g].overflow == 0) break;
    }
    return -1;
  }

  // REQUIRES: a slot is empty, and the id is not here.
  void Insert(uint64_t hash, int64_t id, uint32_t row) {
    std::size_t g = HomeOf(hash);
    unsigned empty = groups_[g].Empty();
    for (; empty == 0; g = Next(g), empty = groups_[g].Empty())
      groups_[g].overflow += groups_[g].overflow < kSaturated;
    const int slot = __builtin_ctz(empty);
    IndexGroup& group = groups_[g];
    group.ids[slot] = id;
    group.rows[slot] = row;
    group.used |= static_cast<uint16_t>(1u << slot);
    ++used_;
  }

  // REQUIRES: the id is here.
  void Erase(uint64_t hash, int64_t id) {
    for (std::size_t g = HomeOf(hash);; g = Next(g)) {
      IndexGroup& group = groups_[g];
      if (const unsigned same = group.Match(id)) {
        group.used &= static_cast<uint16_t>(~same);
        --used_;
        return;
      }
      group.overflow -= group.overflow < kSaturated;
    }
  }

  // fn(id, row) for each, in the order of the groups.
  template <typename Fn>
  void ForEach(Fn&& fn) const {
    for (const IndexGroup& group : groups_)
      for (unsigned left = group.used; left != 0; left &= left - 1)
        fn(group.ids[__builtin_ctz(left)], group.rows[__builtin_ctz(left)]);
  }

 private:
  static constexpr uint16_t kSaturated = UINT16_MAX;
  TESSERA_HD static std::size_t HomeOf(uint64_t hash) { return hash >> 8 & (kGroups - 1); }
  TESSERA_HD static std::size_t Next(std::size_t group) { return (group + 1) & (kGroups - 1); }

  IndexGroup groups_[kGroups];
  int64_t used_ = 0, limit_;
  int depth_;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_INDEX_SEGMENT_H_
