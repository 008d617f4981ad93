#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_INDEX_SEARCH_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_INDEX_SEARCH_H_
// Ids are searched in a GrowingIndex a block at a time. While one block is searched, the groups of
// the next come from memory: asking for an id of it, then searching one, keeps both busy.
//
//   ReadBlock     ids and their hashes
//   SearchBlock   rows of the block; asks for the groups of the next one's ids
#include "embedding/lookup/row_ops.h"
#include "embedding/managed_collision/index/index_segment.h"
#include "runtime/base/isa.h"

namespace tessera::internal {

struct IndexBlock {
  // Ids of a block. With 64 an id takes 7.4 ns, with 32 9.4, with 128 8.9 (2 M ids, cold, Zen 5).
  static constexpr int64_t kIds = 64;
  int64_t n = 0;
  int64_t ids[kIds];
  uint64_t hashes[kIds];
  int64_t rows[kIds];  // −1: none
};

// A view of the segments of a GrowingIndex.
struct IndexView {
  IndexSegment* segments;
  const uint32_t* directory;  // 2^depth
  int depth;

  TESSERA_HD IndexSegment& SegmentOf(uint64_t hash) const {
    return segments[directory[hash >> 1 >> (63 - depth)]];
  }
};

// Ids [begin, end), or as many as fit; hashes of none are 0.
#define TESSERA_DECLARE_INDEX_(isa)                                                    \
  namespace isa {                                                                      \
  void ReadBlock(IndexArray ids, int64_t begin, int64_t end, IndexBlock& block);       \
  void SearchBlock(const IndexView& index, IndexBlock& block, const IndexBlock& next); \
  }
TESSERA_FOR_EACH_ISA(TESSERA_DECLARE_INDEX_)
#undef TESSERA_DECLARE_INDEX_

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_INDEX_SEARCH_H_
