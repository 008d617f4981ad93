#ifndef TESSERA_EMBEDDING_CACHE_ROW_CACHE_STEPS_H_
#define TESSERA_EMBEDDING_CACHE_ROW_CACHE_STEPS_H_
// The loop bodies of the row cache's calls, as functions that every device runs, in the order of
// their use. One loop runs over the items of many tables: a function gets a table and an item of
// it, and says by Count how many items the table has.
//
// u counts the distinct rows of a table's batch, in the order of their hash (so those of a set are
// neighbours); −1 stands for the ids that name no row, and comes last.
#include "embedding/cache/cache_lines.h"
#include "embedding/cache/row_parts.h"
#include "embedding/lookup/row_ops.h"

namespace tessera::internal {

// A table's batch, from its prefetch to its release, on the device.
struct BatchRows {
  int64_t num_ids = 0;           // room of each array
  uint32_t* count = nullptr;     // distinct rows
  int64_t* rows = nullptr;       // of each u
  int64_t* slots = nullptr;      // the line of each; −1: none
  int32_t* conflicts = nullptr;  // u of row c without a line, rising
  uint32_t* num_conflicts = nullptr;
};

// A prefetch works on these besides. i counts the table's ids in the order of their keys; they are
// ids `first` + i of the ids of all tables.
struct PrefetchWork {
  int64_t first = 0;
  int64_t call = 0;
  const uint32_t* places = nullptr;          // of each i in `out`
  uint32_t* numbers = nullptr;               // distinct rows up to i, and those of earlier tables
  uint32_t* starts = nullptr;                // the first i of each u
  int64_t* leaving = nullptr;                // the row that u's line has to write back; −1: none
  uint8_t* inserted = nullptr;               // 1: u came into a line now
  uint8_t* conflicting = nullptr;            // 1: u found no line
  const uint32_t* conflict_ranks = nullptr;  // conflicts up to u, and those of earlier tables
  int64_t* out = nullptr;                    // [N]: the slots of the ids
};

// A table with its batch. During a prefetch `work` is set.
struct CachedTable {
  CacheLines cache;
  int64_t* counters = nullptr;
  BatchRows batch;
  PrefetchWork work = {};
  bool updated = false;  // by the release

  // The u of sorted id i.
  TESSERA_HD int64_t NumberOf(int64_t i) const {
    return static_cast<int64_t>(work.numbers[i]) - work.numbers[0];
  }
  // Conflicts up to u.
  TESSERA_HD int64_t ConflictsUpTo(int64_t u) const {
    return static_cast<int64_t>(work.conflict_ranks[u]) - work.conflict_ranks[0] +
           work.conflicting[0];
  }
  // How many ids name row u.
  TESSERA_HD int64_t Times(int64_t u) const {
    return (u + 1 < *batch.count ? work.starts[u + 1] : batch.num_ids) - work.starts[u];
  }
};

// For steps that move rows.
struct MovedTable : CachedTable {
  RowParts parts;
};

// Items of a step: ids, distinct rows, or rows without a line.
struct OfIds {
  TESSERA_HD int64_t Count(const CachedTable& t) const { return t.batch.num_ids; }
};
struct OfRows {
  TESSERA_HD int64_t Count(const CachedTable& t) const { return *t.batch.count; }
};
struct OfConflicts {
  TESSERA_HD int64_t Count(const CachedTable& t) const { return *t.batch.num_conflicts; }
};

// ---- prefetch

// Ids [begin, begin + count) of one feature, as keys `at` … of those of all tables.
struct KeyedIds {
  IndexArray ids;
  int64_t begin = 0, count = 0;
  int64_t num_rows = 0;
  RowHash hash;
  uint64_t table_key = 0;  // the bits of the key above the table's own
  int64_t at = 0;
};

// The sort key of an id: its table, then its row's hash, or 2^k for none.
template <typename Key>
struct MakeKeys {
  Key* keys;
  uint32_t* places;
  TESSERA_HD void operator()(const KeyedIds& f, int64_t i) const {
    const int64_t id = f.ids[f.begin + i];
    const uint64_t own = IsRow(id, f.num_rows) ? f.hash(id) : uint64_t{1} << f.hash.bits;
    keys[f.at + i] = static_cast<Key>(f.table_key | own);
    places[f.at + i] = static_cast<uint32_t>(f.begin + i);
  }
};

// Names the distinct rows, and counts them. Nothing is flagged yet.
template <typename Key>
struct NameRows : OfIds {
  const Key* keys;  // of all tables
  explicit NameRows(const Key* sorted) : keys(sorted) {}
  TESSERA_HD void operator()(const CachedTable& t, int64_t i) const {
    t.work.inserted[i] = t.work.conflicting[i] = 0;
    const int64_t u = t.NumberOf(i);
    if (i + 1 == t.batch.num_ids) *t.batch.count = static_cast<uint32_t>(u + 1);
    if (i > 0 && t.NumberOf(i - 1) == u) return;
    t.work.starts[u] = static_cast<uint32_t>(i);
    // The lowest k + 1 bits are the table's own.
    const RowHash& hash = t.cache.hash;
    const uint64_t key = uint64_t{keys[t.work.first + i]} & (hash.Mask() << 1 | 1);
    t.batch.rows[u] = key >> hash.bits ? -1 : hash.RowOf(key);
  }
};

// Rows that lie in a line: it is theirs until the batch is released.
struct ProbeLines : OfRows {
  TESSERA_HD void operator()(const CachedTable& t, int64_t u) const {
    const CacheLines& cache = t.cache;
    const int64_t row = t.batch.rows[u], line = row < 0 ? -1 : cache.Find(row);
    t.batch.slots[u] = line;
    if (line < 0) return;
    ++cache.locks[line];
    cache.ranks[line] = cache.RankAfter(cache.ranks[line], t.work.call, t.Times(u));
  }
};

// Finds lines for the rows of a set that lie in none, in order; the first row of a set does it for
// all. The last row counts the batch.
struct FillSets : OfRows {
  TESSERA_HD static bool InSet(const CachedTable& t, int64_t u, int64_t set) {
    return t.batch.rows[u] >= 0 && t.cache.SetOf(t.batch.rows[u]) == set;
  }
  TESSERA_HD void operator()(const CachedTable& t, int64_t u) const {
    const int64_t row = t.batch.rows[u];
    const uint32_t count = *t.batch.count;
    if (u + 1 == count) CountBatch(t, count, row < 0);
    if (row < 0) return;
    const int64_t set = t.cache.SetOf(row);
    if (u > 0 && InSet(t, u - 1, set)) return;
    FillSet(t, static_cast<uint32_t>(u), count, set);
  }
  TESSERA_HD static void FillSet(const CachedTable& t, uint32_t u, uint32_t count, int64_t set) {
    const CacheLines& cache = t.cache;
    // They have 32 bits, as a GPU's thread has registers for no more.
    uint32_t misses = 0, conflicts = 0, evictions = 0, write_backs = 0;
    for (uint32_t v = u; v < count && InSet(t, v, set); ++v) {
      if (t.batch.slots[v] >= 0) continue;
      ++misses;
      const int64_t line = conflicts > 0 ? -1 : cache.Victim(set);
      if (line < 0) {
        t.work.conflicting[v] = 1;
        ++conflicts;
        continue;
      }
      evictions += cache.rows[line] >= 0;
      write_backs += cache.dirty[line];
      Insert(t, v, line);
    }
    if (misses > 0) AddToCount(t.counters + kMisses, misses);
    if (conflicts > 0) AddToCount(t.counters + kConflictMisses, conflicts);
    if (evictions > 0) AddToCount(t.counters + kEvictions, evictions);
    if (write_backs > 0) AddToCount(t.counters + kWriteBacks, write_backs);
  }
  TESSERA_HD static void Insert(const CachedTable& t, int64_t u, int64_t line) {
    const CacheLines& cache = t.cache;
    t.work.leaving[u] = cache.dirty[line] ? cache.rows[line] : -1;
    t.work.inserted[u] = 1;
    t.batch.slots[u] = line;
    cache.rows[line] = t.batch.rows[u];
    cache.ranks[line] = cache.RankAfter(-1, t.work.call, t.Times(u));
    cache.locks[line] = 1;
    cache.dirty[line] = 0;
  }
  TESSERA_HD static void CountBatch(const CachedTable& t, int64_t count, bool none) {
    t.counters[kRequested] += none ? t.work.starts[count - 1] : t.batch.num_ids;
    t.counters[kUnique] += count - none;
  }
};

// Piece `index` of row u leaves its line and comes in.
struct ExchangeRows : OfRows {
  TESSERA_HD void operator()(const MovedTable& t, int64_t u, int64_t index) const {
    if (!t.work.inserted[u]) return;
    const RowParts::Piece piece = t.parts.At(index);
    char* line = piece.InSlot(t.batch.slots[u]);
    if (t.work.leaving[u] >= 0) piece.Copy(piece.InTable(t.work.leaving[u]), line);
    piece.Copy(line, piece.InTable(t.batch.rows[u]));
  }
};

// The slot of sorted id i: its row's line or, for a row without one, the scratch slot of its number
// among those. Lists these.
struct WriteSlots : OfIds {
  TESSERA_HD void operator()(const CachedTable& t, int64_t i) const {
    const int64_t u = t.NumberOf(i);
    if (i + 1 == t.batch.num_ids)
      *t.batch.num_conflicts = static_cast<uint32_t>(t.ConflictsUpTo(u));
    int64_t slot = t.batch.slots[u];
    if (t.work.conflicting[u]) {
      const int64_t c = t.ConflictsUpTo(u) - 1;
      slot = t.cache.lines() + c;
      if (t.work.starts[u] == i) t.batch.conflicts[c] = static_cast<int32_t>(u);
    }
    t.work.out[t.work.places[i]] = slot;
  }
};

// ---- rows in scratch; those of a batch

// The row in scratch slot number c, and the line that holds its current values, into which another
// batch brought it since; −1: the table has them.
struct ScratchRow {
  int64_t row, line;
  TESSERA_HD static ScratchRow Of(const CachedTable& t, int64_t c) {
    const int64_t row = t.batch.rows[t.batch.conflicts[c]];
    return {row, t.cache.Find(row)};
  }
};

// Piece `index` of scratch row c gets its current values, and the slot the row's name. Values on
// disk come later.
struct LoadScratch : OfConflicts {
  TESSERA_HD void operator()(const MovedTable& t, int64_t c, int64_t index) const {
    const ScratchRow current = ScratchRow::Of(t, c);
    const int64_t slot = t.cache.lines() + c;
    if (index == 0) t.cache.rows[slot] = current.row;
    if (current.line < 0 && t.parts.on_disk) return;
    const RowParts::Piece piece = t.parts.At(index);
    piece.Copy(piece.InSlot(slot),
               current.line >= 0 ? piece.InSlot(current.line) : piece.InTable(current.row));
  }
};

struct StoreScratch : OfConflicts {
  TESSERA_HD void operator()(const MovedTable& t, int64_t c, int64_t index) const {
    const ScratchRow current = ScratchRow::Of(t, c);
    const RowParts::Piece piece = t.parts.At(index);
    if (current.line >= 0 || !t.parts.on_disk)
      piece.Copy(current.line >= 0 ? piece.InSlot(current.line) : piece.InTable(current.row),
                 piece.InSlot(t.cache.lines() + c));
    if (index > 0) return;
    if (current.line >= 0)
      t.cache.dirty[current.line] = 1;
    else
      AddToCount(t.counters + kWriteBacks, 1);
  }
};

// ---- release and flush

struct UnlockLines : OfRows {
  TESSERA_HD void operator()(const CachedTable& t, int64_t u) const {
    const int64_t line = t.batch.slots[u];
    if (line < 0) return;
    --t.cache.locks[line];
    if (t.updated) t.cache.dirty[line] = 1;
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
  const int64_t *rows, *slots, *leaving;
  const int32_t* list;
  int64_t* moves;  // [3, n]
  int64_t n;
  TESSERA_HD void operator()(int64_t c) const {
    const int64_t u = list[c];
    moves[c] = rows[u];
    moves[n + c] = slots[u];
    moves[2 * n + c] = leaving[u];
  }
};

// The row of each scratch slot, and where its current values lie.
struct ListScratch : OfConflicts {
  int64_t* list;  // [2, n]
  int64_t n;
  ListScratch(int64_t* rows, int64_t most) : list(rows), n(most) {}
  TESSERA_HD void operator()(const CachedTable& t, int64_t c) const {
    const ScratchRow current = ScratchRow::Of(t, c);
    list[c] = current.row;
    list[n + c] = current.line;
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
