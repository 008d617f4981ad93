#ifndef TESSERA_EMBEDDING_CACHE_ROW_CACHE_STEPS_H_
#define TESSERA_EMBEDDING_CACHE_ROW_CACHE_STEPS_H_
// The loop bodies of the row cache's calls, as functions of an index that every device runs, in the
// order of their use. u counts the distinct rows of a batch, in the order of their hash (so those
// of a set are neighbours); −1 stands for the ids that name no row, and comes last.
#include "embedding/cache/cache_lines.h"
#include "embedding/cache/row_parts.h"
#include "embedding/lookup/row_ops.h"

namespace tessera::internal {

// ---- prefetch

// The sort key of the id at `begin` + i: its row's hash, or 2^k for none.
template <typename Key>
struct MakeKeys {
  IndexArray ids;
  int64_t begin, num_rows;
  RowHash hash;
  Key* keys;
  uint32_t* places;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t id = ids[begin + i];
    keys[i] = static_cast<Key>(IsRow(id, num_rows) ? hash(id) : uint64_t{1} << hash.bits);
    places[i] = static_cast<uint32_t>(begin + i);
  }
};

template <typename Key>
struct NameRows {
  RowHash hash;
  const Key* keys;
  const uint32_t* starts;
  int64_t* rows;
  TESSERA_HD void operator()(int64_t u) const {
    const uint64_t key = keys[starts[u]];
    rows[u] = key >> hash.bits ? -1 : hash.RowOf(key);
  }
};

// Everything about a batch: its distinct rows and where they go.
struct BatchRows {
  int64_t num_ids = 0;
  const uint32_t* count = nullptr;   // distinct rows
  const uint32_t* starts = nullptr;  // of each, among the sorted ids
  int64_t* rows = nullptr;
  int64_t* slots = nullptr;      // −1: none
  int64_t* leaving = nullptr;    // the row that has to be written back first; −1: none
  uint8_t* inserted = nullptr;   // 1: came into a line now
  uint8_t* conflicts = nullptr;  // 1: found no line

  TESSERA_HD int64_t Times(int64_t u) const {
    return static_cast<int64_t>(u + 1 < *count ? starts[u + 1] : num_ids) - starts[u];
  }
};

// Rows that lie in a line: it is theirs until the batch is released.
struct ProbeLines {
  CacheLines cache;
  BatchRows batch;
  int64_t call;
  TESSERA_HD void operator()(int64_t u) const {
    batch.inserted[u] = batch.conflicts[u] = 0;
    const int64_t row = batch.rows[u], line = row < 0 ? -1 : cache.Find(row);
    batch.slots[u] = line;
    if (line < 0) return;
    ++cache.locks[line];
    cache.ranks[line] = cache.RankAfter(cache.ranks[line], call, batch.Times(u));
  }
};

// Finds lines for the rows of a set that lie in none, in order; the first row of a set does it for
// all.
struct FillSets {
  CacheLines cache;
  BatchRows batch;
  int64_t call;
  int64_t* counters;

  TESSERA_HD bool InSet(int64_t u, int64_t set) const {
    return batch.rows[u] >= 0 && cache.SetOf(batch.rows[u]) == set;
  }
  TESSERA_HD void operator()(int64_t u) const {
    if (batch.rows[u] < 0) return;
    const int64_t set = cache.SetOf(batch.rows[u]), count = *batch.count;
    if (u > 0 && InSet(u - 1, set)) return;
    int64_t misses = 0, conflicts = 0, evictions = 0, write_backs = 0;
    for (int64_t v = u; v < count && InSet(v, set); ++v) {
      if (batch.slots[v] >= 0) continue;
      ++misses;
      const int64_t line = conflicts > 0 ? -1 : cache.Victim(set);
      if (line < 0) {
        batch.conflicts[v] = 1;
        ++conflicts;
        continue;
      }
      evictions += cache.rows[line] >= 0;
      write_backs += cache.dirty[line];
      Insert(v, line);
    }
    if (misses > 0) AddToCount(counters + kMisses, misses);
    if (conflicts > 0) AddToCount(counters + kConflictMisses, conflicts);
    if (evictions > 0) AddToCount(counters + kEvictions, evictions);
    if (write_backs > 0) AddToCount(counters + kWriteBacks, write_backs);
  }
  TESSERA_HD void Insert(int64_t u, int64_t line) const {
    batch.leaving[u] = cache.dirty[line] ? cache.rows[line] : -1;
    batch.inserted[u] = 1;
    batch.slots[u] = line;
    cache.rows[line] = batch.rows[u];
    cache.ranks[line] = cache.RankAfter(-1, call, batch.Times(u));
    cache.locks[line] = 1;
    cache.dirty[line] = 0;
  }
};

// Piece i mod P of row list[i div P] leaves its line and comes in.
struct ExchangeRows {
  RowParts parts;
  BatchRows batch;
  const int32_t* list;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t u = list[i / parts.pieces];
    const RowParts::Piece piece = parts.At(i % parts.pieces);
    char* line = piece.InSlot(batch.slots[u]);
    if (batch.leaving[u] >= 0) piece.Copy(piece.InTable(batch.leaving[u]), line);
    piece.Copy(line, piece.InTable(batch.rows[u]));
  }
};

// Rows without a line get the scratch slots after the lines, in order.
struct AssignScratch {
  BatchRows batch;
  const int32_t* list;
  int64_t lines;
  TESSERA_HD void operator()(int64_t c) const { batch.slots[list[c]] = lines + c; }
};

// The slot of sorted id i.
struct WriteSlots {
  BatchRows batch;
  const uint32_t* places;
  int64_t* slots;
  TESSERA_HD void operator()(int64_t i) const {
    int64_t low = 0, high = *batch.count;  // starts[low] ≤ i < starts[high]
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      (static_cast<int64_t>(batch.starts[middle]) <= i ? low : high) = middle;
    }
    slots[places[i]] = batch.slots[low];
  }
};

struct CountBatch {
  BatchRows batch;
  int64_t* counters;
  TESSERA_HD void operator()(int64_t) const {
    const int64_t count = *batch.count, none = count > 0 && batch.rows[count - 1] < 0;
    counters[kRequested] += none ? batch.starts[count - 1] : batch.num_ids;
    counters[kUnique] += count - none;
  }
};

// ---- rows in scratch: those of `list`

// Finds the current values of each row: in a line, into which another batch brought it since, or in
// the table (−1). The slot gets the row's name.
struct FindTruth {
  CacheLines cache;
  const int64_t* rows;
  const int32_t* list;
  int64_t* truth;
  TESSERA_HD void operator()(int64_t c) const {
    const int64_t row = rows[list[c]];
    truth[c] = cache.Find(row);
    cache.rows[cache.lines() + c] = row;
  }
};

struct LoadScratch {
  RowParts parts;
  const int64_t *scratch_rows, *truth;
  int64_t first_slot;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t c = i / parts.pieces;
    if (truth[c] < 0 && parts.on_disk) return;
    const RowParts::Piece piece = parts.At(i % parts.pieces);
    piece.Copy(piece.InSlot(first_slot + c),
               truth[c] >= 0 ? piece.InSlot(truth[c]) : piece.InTable(scratch_rows[c]));
  }
};

struct StoreScratch {
  RowParts parts;
  const int64_t *scratch_rows, *truth;
  int64_t first_slot;
  uint8_t* dirty;
  int64_t* counters;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t c = i / parts.pieces, index = i % parts.pieces;
    const RowParts::Piece piece = parts.At(index);
    if (truth[c] >= 0 || !parts.on_disk)
      piece.Copy(truth[c] >= 0 ? piece.InSlot(truth[c]) : piece.InTable(scratch_rows[c]),
                 piece.InSlot(first_slot + c));
    if (index > 0) return;
    if (truth[c] >= 0)
      dirty[truth[c]] = 1;
    else
      AddToCount(counters + kWriteBacks, 1);
  }
};

// ---- release and flush

struct UnlockLines {
  CacheLines cache;
  const int64_t* slots;
  bool updated;
  TESSERA_HD void operator()(int64_t u) const {
    const int64_t line = slots[u];
    if (line < 0 || line >= cache.lines()) return;
    --cache.locks[line];
    if (updated) cache.dirty[line] = 1;
  }
};

// Lines of `list` to the table.
struct WriteBack {
  RowParts parts;
  CacheLines cache;
  const int64_t* list;
  int64_t* counters;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t line = list[i / parts.pieces], index = i % parts.pieces;
    const RowParts::Piece piece = parts.At(index);
    piece.Copy(piece.InTable(cache.rows[line]), piece.InSlot(line));
    if (index > 0) return;
    cache.dirty[line] = 0;
    AddToCount(counters + kWriteBacks, 1);
  }
};

// ---- of a table on disk

// The row that comes to a line, the line, and the row that leaves it (−1: none), of each of `list`.
struct ListMoves {
  BatchRows batch;
  const int32_t* list;
  int64_t* moves;  // [3, n]
  int64_t n;
  TESSERA_HD void operator()(int64_t c) const {
    const int64_t u = list[c];
    moves[c] = batch.rows[u];
    moves[n + c] = batch.slots[u];
    moves[2 * n + c] = batch.leaving[u];
  }
};

// The row of each scratch slot, and where the truth about it lies.
struct ListScratch {
  const int64_t *scratch_rows, *truth;
  int64_t* list;  // [2, n]
  int64_t n;
  TESSERA_HD void operator()(int64_t c) const {
    list[c] = scratch_rows[c];
    list[n + c] = truth[c];
  }
};

// The rows of the lines of `list`, which are as their table from now on.
struct ListDirty {
  CacheLines cache;
  const int64_t* list;
  int64_t* rows;
  int64_t* counters;
  TESSERA_HD void operator()(int64_t i) const {
    rows[i] = cache.rows[list[i]];
    cache.dirty[list[i]] = 0;
    AddToCount(counters + kWriteBacks, 1);
  }
};

// Slot slots[c] and staged record c.
struct StageSlots {
  RowParts parts;
  const int64_t* slots;
  bool fill;  // the slot, from the record
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t c = i / parts.pieces;
    const RowParts::Piece piece = parts.At(i % parts.pieces);
    char *const slot = piece.InSlot(slots[c]), *const record = piece.InTable(c);
    piece.Copy(fill ? slot : record, fill ? record : slot);
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_CACHE_ROW_CACHE_STEPS_H_
