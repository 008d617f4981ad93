#ifndef TESSERA_EMBEDDING_CACHE_ROW_CACHE_IMPL_H_
#define TESSERA_EMBEDDING_CACHE_ROW_CACHE_IMPL_H_
// The data that a row cache's calls work on, and their dispatch to a device. Calls of a batch are
// those of many tables at once, whose arrays lie in the same memory, one after another.
#include <bit>
#include <memory>
#include <span>
#include <utility>

#include "embedding/cache/row_cache.h"
#include "embedding/cache/row_cache_steps.h"
#include "runtime/device/device.h"
#include "runtime/device/scratch_pool.h"

namespace tessera::internal {

struct CacheView {
  CacheLines cache;
  RowParts parts;
  int64_t num_rows = 0;
  int64_t* counters = nullptr;
};

// A table's share of a prefetch. REQUIRES: num_ids, of all features, above 0.
struct PrefetchCall {
  CacheView view;
  int64_t call = 0;
  std::span<const CachedIds> features;
  int64_t num_ids = 0;
  int64_t* slots = nullptr;
};

// A prefetch leaves this behind. Table t is the t-th of its calls.
struct BatchMemory {
  Tensor kept;                    // where BatchRows lie
  Tensor num_conflicts;           // [tables] i32, in `kept`
  ScratchVector<BatchRows> rows;  // of each table
  // For a table on disk, until its reads are started: ListMoves's [3, n], and how many they are.
  // Pinned.
  Tensor moves, num_moves;
};

// Bits of the sort keys of a prefetch of tables of which the largest has `hash_bits`.
inline int KeyBits(int hash_bits, int64_t tables) {
  return hash_bits + 1 + static_cast<int>(std::bit_width(static_cast<uint64_t>(tables - 1)));
}

// The cache's calls on a device. Defined in row_cache_run.h, once for all devices, and instantiated
// in row_cache_cpu.cc and row_cache_cuda.cu.
template <typename On>
class CacheRun {
 public:
  CacheRun(On, Context& ctx) : ctx_(ctx) {}

  // REQUIRES: KeyBits up to 64; fewer than 2^31 ids; a table on disk is alone.
  BatchMemory Prefetch(std::span<const PrefetchCall> calls) const;
  // Between the truth and the scratch slots. Of tables on disk: where the truth is a line.
  void LoadScratch(std::span<const MovedTable> tables) const;
  void StoreScratch(std::span<const MovedTable> tables) const;
  // Returns ListScratch's list [2, n] of a table on disk with room for n rows in scratch, pinned.
  Tensor ListOfScratch(const CachedTable& table, int64_t room) const;
  void Unlock(std::span<const CachedTable> tables) const;

  void Flush(const CacheView& view) const;
  // Returns what Flush would write of a table on disk: the lines and their rows, [2, lines], and
  // how many they are; pinned.
  std::pair<Tensor, Tensor> TakeDirty(const CacheView& view) const;
  // Copies n slots to staged records, which the view has as its table, or fills them from those.
  void Stage(const CacheView& view, const int64_t* slots, int64_t n, bool fill) const;

 private:
  Context& ctx_;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_CACHE_ROW_CACHE_IMPL_H_
