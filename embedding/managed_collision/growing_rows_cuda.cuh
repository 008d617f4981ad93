#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_ROWS_CUDA_CUH_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_ROWS_CUDA_CUH_
// Kernels' view of growing_rows.h. For .cu files.
#include <vector>

#include "embedding/managed_collision/growing_rows.h"
#include "embedding/managed_collision/index/id_hash.h"
#include "embedding/managed_collision/index/sorted_ids.cuh"

namespace tessera::internal {

struct RowColumns {
  static constexpr uint32_t kEmpty = ~0u, kErased = ~0u - 1;
  int64_t *ids, *last, *counts;
  uint32_t* slots;
  uint64_t mask;
  explicit RowColumns(const GrowingRows& rows)
      : ids(rows.ids.data<int64_t>()),
        last(rows.last.data<int64_t>()),
        counts(rows.counts.data<int64_t>()),
        slots(Numbers(rows.slots)),
        mask(static_cast<uint64_t>(rows.slots.numel()) - 1) {}

  TESSERA_HD int64_t Find(int64_t id) const {
    for (uint64_t s = HashId(id);; ++s) {
      const uint32_t row = slots[s & mask];
      if (row == kEmpty) return -1;
      if (row != kErased && ids[row] == id) return row;
    }
  }
  // REQUIRES: no slot has the row; ids has its id.
  __device__ void Enter(uint32_t row) const {
    for (uint64_t s = HashId(ids[row]);; ++s) {
      uint32_t* slot = slots + (s & mask);
      for (uint32_t seen = *slot; seen >= kErased;) {
        const uint32_t before = atomicCAS(slot, seen, row);
        if (before == seen) return;
        seen = before;
      }
    }
  }
  // REQUIRES: a slot has the row.
  TESSERA_HD void Erase(uint32_t row) const {
    uint64_t s = HashId(ids[row]);
    while (slots[s & mask] != row) ++s;
    slots[s & mask] = kErased;
    counts[row] = 0;
  }
};

// Enters all of `num_rows` rows that have an owner into slots that are emptied before.
void EnterAnew(Context& ctx, GrowingRows* rows, int64_t num_rows);
// Frees up to `need` rows as GrowingIndex does; more if the last window had more. The result is in
// the order in which rows are to be given away.
std::vector<int64_t> EvictSync(Context& ctx, GrowingRows* rows, const GrowingCall& call,
                               int64_t need);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_ROWS_CUDA_CUH_
