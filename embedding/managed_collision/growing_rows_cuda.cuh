#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_ROWS_CUDA_CUH_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_ROWS_CUDA_CUH_
// Kernels' view of growing_rows.h. For .cu files.
#include "embedding/managed_collision/growing_rows.h"
#include "embedding/managed_collision/index/first_occurrences.cuh"
#include "embedding/managed_collision/index/id_hash.h"

namespace tessera::internal {

struct RowColumns {
  static constexpr uint32_t kEmpty = ~0u, kErased = ~0u - 1;
  int64_t *ids, *last, *counts;
  uint32_t* slots;
  uint64_t mask;
  explicit RowColumns(const GrowingRows& rows)
      : ids(rows.ids.whole().data<int64_t>()),
        last(rows.last.whole().data<int64_t>()),
        counts(rows.counts.whole().data<int64_t>()),
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

// Enters a row that somebody owns.
struct EnterRow {
  RowColumns columns;
  __device__ void operator()(int64_t row) const {
    if (columns.counts[row] > 0) columns.Enter(static_cast<uint32_t>(row));
  }
};

// Makes the first num_rows ready, of max_rows.
void ReadyRows(Context& ctx, GrowingRows* rows, int64_t num_rows, int64_t max_rows);

// How far evictions have come.
struct EvictionPlace {
  int64_t hand, looked_at, freed;
  int64_t fruitless;  // windows without a victim, the last ones
};

// The evictions of a call. Undefined where none can be needed.
struct Evictions {
  Tensor memory;
  const EvictionPlace* end = nullptr;  // where they ended
  const int64_t* freed = nullptr;      // [end->freed], in the order in which they are to be given
  const int64_t* entered_anew = nullptr;  // above 0: no slot is erased any more
};
// Frees rows as GrowingIndex does, until there are enough for *wanted ids (at most most_wanted);
// more if the last window had more.
Evictions Evict(Context& ctx, GrowingRows* rows, const GrowingCall& call, const int32_t* wanted,
                int64_t most_wanted);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_ROWS_CUDA_CUH_
