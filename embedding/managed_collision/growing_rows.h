#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_ROWS_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_ROWS_H_
// A GrowingIndex on a GPU.
//
//   ids, last, counts   i64 [max_rows]   of a row; count 0: nobody's
//   slots               i32 [2^k]        a row, or empty, or erased; at least twice max_rows
//
// An id's first slot is its hash mod 2^k, then the next ones in turn, up to an empty one. Erased
// slots are taken again; when a quarter of all may be erased, all rows are entered anew. Memory is
// that of the cap from the first use on.
//
// Rows, evictions and states are the CPU's.
#include <algorithm>
#include <vector>

#include "embedding/lookup/index_array.h"
#include "embedding/lookup/row_ops.h"
#include "embedding/managed_collision/index/frequency_sketch.h"
#include "embedding/managed_collision/index/id_hash.h"
#include "embedding/managed_collision/mch_eviction.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// Rows that are looked at together, and for how many of them one is freed.
inline constexpr int64_t kEvictionWindow = 256, kSeenAVictim = 16;

// Rows with the lowest are freed first.
struct GrowingScore {
  MchEviction eviction;
  int64_t now;
  TESSERA_HD double Of(int64_t last, int64_t count) const {
    if (eviction == MchEviction::kLru) return static_cast<double>(last);
    if (eviction == MchEviction::kLfu) return static_cast<double>(count);
    return static_cast<double>(count) / static_cast<double>(now - last + 1);
  }
};

struct GrowingRows {
  Tensor ids, last, counts, slots;
  int64_t erased = 0;  // slots, at most
  int64_t bytes() const { return ids.nbytes() + last.nbytes() + counts.nbytes() + slots.nbytes(); }
};

// State of an index that the host keeps in a call of Insert.
struct GrowingCall {
  MchEviction score;
  int64_t max_rows, admit_after, now;
  int64_t &num_rows, &hand, &looked_at, &may_look_until;
  std::vector<int64_t>&free, &added, &reused;
  FrequencySketch& sketch;
};

// Makes an index with these rows in use; each [n], i64, on any device.
GrowingRows MakeGrowingRows(OnCuda, Context& ctx, int64_t max_rows, const Tensor& ids,
                            const Tensor& last, const Tensor& counts);
// ids: [N], contiguous. GrowingIndex::Find and Insert.
Tensor FindGrowing(OnCuda, Context& ctx, const GrowingRows& rows, const Tensor& ids);
Tensor InsertGrowingSync(OnCuda, Context& ctx, GrowingRows* rows, const Tensor& ids,
                         const GrowingCall& call);

struct PlaceBehindSharedRows {
  IndexArray ids;
  int64_t shared;
  int64_t* rows;
  TESSERA_HD void operator()(int64_t i) const {
    rows[i] = rows[i] < 0 ? ResidualHashBelow(ids[i], shared) : rows[i] + shared;
  }
};
// Turns rows of the index, i64 [N], into those of a table whose first `shared` rows belong to ids
// without one.
void PlaceBehindShared(OnCpu, Context& ctx, const Tensor& ids, int64_t shared, const Tensor& rows);
void PlaceBehindShared(OnCuda, Context& ctx, const Tensor& ids, int64_t shared, const Tensor& rows);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_ROWS_H_
