#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_ROWS_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_ROWS_H_
// A GrowingIndex on a GPU.
//
//   ids, last, counts   i64 [max_rows]   of a row; count 0: nobody's
//   slots               i32 [2^k]        a row, or empty, or erased; at least twice ready_rows
//   free                i64 [m]          rows that ids had; the next one to be given last
//   numbers             GrowingNumbers   how far rows have been given
//   sketch              u8 [64 lines]    with admit_after above 1: a FrequencySketch's counters
//
// An id's first slot is its hash mod 2^k, then the next ones in turn, up to an empty one. Erased
// slots are taken again; when a quarter of all may be erased, all rows are entered anew, and where
// there are to be more slots, into new ones. The index takes 32 to 40 bytes a row as rows come; its
// columns are mapped as ReservedTensor says.
//
// Rows, evictions and states are the CPU's. All that decides about the next row lies on the GPU, so
// the host waits for nothing.
#include <algorithm>
#include <vector>

#include "embedding/lookup/index_array.h"
#include "embedding/lookup/row_ops.h"
#include "embedding/managed_collision/index/frequency_sketch.h"
#include "embedding/managed_collision/index/id_hash.h"
#include "embedding/managed_collision/mch_eviction.h"
#include "runtime/tensor.h"
#include "runtime/virtual_memory.h"

namespace tessera::internal {

// Rows that are looked at together, and for how many of them one is freed.
inline constexpr int64_t kEvictionWindow = 256, kSeenAVictim = 16;

// The most rows that a call with so many ids looks at: a few ms, and more for each id.
inline int64_t MayLookAt(int64_t ids) { return (1 << 20) + 32 * ids; }

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

struct GrowingNumbers {
  int64_t num_rows, num_free, hand, looked_at;
  int64_t reused;  // times that a row went from one id to another
  int64_t erased;  // slots
  int64_t adds;    // to the sketch
};
inline constexpr int64_t kGrowingNumbers = sizeof(GrowingNumbers) / sizeof(int64_t);

struct GrowingRows {
  ReservedTensor ids, last, counts;
  Tensor slots, free, numbers, sketch;
  int64_t ready_rows = 0;  // have memory, and a count; all max_rows before any is evicted
  // The most that `numbers` may say by now, as far as the host knows.
  int64_t most_rows = 0, most_erased = 0;
  bool changed = false;  // by calls that the host has not asked for numbers since

  int64_t bytes() const {
    return ids.bytes_taken() + last.bytes_taken() + counts.bytes_taken() + slots.nbytes() +
           free.nbytes() + numbers.nbytes() + sketch.nbytes();
  }
};

// One call of Insert.
struct GrowingCall {
  MchEviction score;
  int64_t max_rows, admit_after, now;
  int64_t may_look_at;  // so many rows
};

// A call leaves on the device what it gave away: these numbers, then the rows, [given].
struct GrowingGiven {
  int64_t rows_before, rows_after;  // num_rows
  int64_t given, wanted;            // ids that got a row, and that asked for one
};
inline constexpr int64_t kGivenNumbers = sizeof(GrowingGiven) / sizeof(int64_t);
struct GrowingInserted {
  Tensor rows;   // i64 [N]
  Tensor given;  // i64 [kGivenNumbers + most rows]: GrowingGiven, and rows in their ids' order
};

// Makes an index with these rows in use; each [n], i64, on any device. numbers: with all slots new.
// Without a sketch.
GrowingRows MakeGrowingRows(OnCuda, Context& ctx, int64_t max_rows, const Tensor& ids,
                            const Tensor& last, const Tensor& counts,
                            const std::vector<int64_t>& free, const GrowingNumbers& numbers);
// ids: [N], contiguous. GrowingIndex::Find and Insert. REQUIRES: Insert gets some.
Tensor FindGrowing(OnCuda, Context& ctx, const GrowingRows& rows, const Tensor& ids);
GrowingInserted InsertGrowing(OnCuda, Context& ctx, GrowingRows* rows, const Tensor& ids,
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
