#ifndef TESSERA_EMBEDDING_CACHE_ROW_CACHE_H_
#define TESSERA_EMBEDDING_CACHE_ROW_CACHE_H_
// A cache, in device memory, of one table's rows and their optimizer states; the whole table lies
// in host memory that the device can use (placement.h). It is set-associative: a row can lie only
// in the lines of one set (row_hash.h). A batch's ids are replaced by the numbers of cache slots,
// and lookup and update run on the slots as if they were the table.
//
//   slots = lines (sets·ways), then scratch
//
// A batch passes three calls:
//   Prefetch   every row that the batch names is brought into a line of its set, where it stays at
//              least until the batch is released. What has to leave, by policy, is written back if
//              it changed. A row whose set has no line to spare (a conflict) gets a scratch slot.
//   Load       before the lookup and before the update: scratch slots get their rows
//   Release    after the update: scratch goes back, and lines may leave again
// Batches may be prefetched any number of steps ahead. Each training batch is loaded, updated and
// released before the next is loaded; batches that only read may come between. Rows have the bits
// that they would have without a cache, whatever its size. Between Load and Release of a training
// batch its slots hold the current values of its rows; any other row's are in its line, or in the
// table if it has none.
//
// Kernels do all of it, in the order of the calls, and the same slots come out in every run. Calls
// may come on contexts of several streams of the device: each waits there for those before it.
// (Prefetch on a second context so runs beside lookup and update of another batch.) One host thread
// at a time.
//
// A table that lies on disk instead (storage/disk_table.h) is treated alike, row by row;
// disk_side.h says what differs.
//
// One cache a table, not one for many: rows of one width and one set of states then need no common
// format, and size, policy and statistics are the table's own. The calls of a batch exist for many
// caches at once, and do the same for each: on a GPU in as few launches and allocations as for one.
#include <memory>
#include <span>
#include <vector>

#include "embedding/config/placement.h"
#include "runtime/tensor.h"

namespace tessera {

class DiskTable;
namespace internal {
class CacheCalls;
}

// Counts since the cache was made. Rows are distinct rows of a batch.
struct CacheStats {
  int64_t calls = 0;            // of Prefetch
  int64_t requested = 0;        // ids that name a row
  int64_t unique = 0;           // rows, batch by batch
  int64_t hits = 0;             // rows that lay in a line when they were prefetched
  int64_t misses = 0;           // rows that did not
  int64_t conflict_misses = 0;  // misses that found no line and went to scratch
  int64_t evictions = 0;        // lines whose row had to leave
  int64_t write_backs = 0;      // rows written to the table: evicted, from scratch, by Flush
};

// Ids [begin, end) of a KJT's `ids` (i32 or i64), which one feature reads from the table.
struct CachedIds {
  Tensor ids;
  int64_t begin = 0, end = 0;
};

class RowCache {
 public:
  // A prefetched batch; a handle. One that goes without Release is released, as only read, by the
  // next Prefetch.
  class Batch {
   public:
    Batch() = default;
    explicit operator bool() const { return state_ != nullptr; }

   private:
    friend class RowCache;
    friend class internal::CacheCalls;
    struct State;
    std::shared_ptr<State> state_;
  };

  // These tell a call for many caches what to do with one; a call names each cache once.
  struct Request {
    RowCache* cache = nullptr;
    std::vector<CachedIds> features;
    Tensor slots;
  };
  struct Use {
    RowCache* cache = nullptr;
    Batch batch;
    bool updated = false;  // for ReleaseAll
  };

  // Makes a cache of `parts`: the table's weights [E, D], then its states, [E, D] or [E]; all
  // whole, contiguous, on ctx's device (EmptyAt). Throws Error for a config in which not even one
  // set fits. Of a table on disk, `parts` have the shapes and types, and no memory (ShapeOnly):
  // Prefetch writes the changed rows that leave and starts to read those that come, which Load
  // waits for. Both wait for the device, and throw Error where the disk fails; they may be called
  // again.
  RowCache(Context& ctx, std::vector<Tensor> parts, const CacheConfig& config,
           std::shared_ptr<DiskTable> disk = nullptr);
  ~RowCache();
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  int64_t lines() const;
  const CacheConfig& config() const;
  // Part p for all slots, [slots, …]; slots may become more, elsewhere, by Load.
  const Tensor& slots_of_part(int p) const;
  int64_t num_slots() const { return slots_of_part(0).dim(0); }
  // [slots] i64: which row lies in each (RowRounding::row_ids).
  const Tensor& row_ids() const;

  // Writes to `slots` (i64 [N], N the elements of each feature's `ids`), at the places of the
  // features' ids, the slot of each id, or −1 for an id that names no row. REQUIRES: N below 2^31;
  // no CUDA graph is recorded.
  Batch Prefetch(Context& ctx, std::span<const CachedIds> features, const Tensor& slots);
  // If scratch has less room than the batch has ids, makes more: slots_of_part and row_ids are then
  // other tensors. With config.scratch_rows above 0, or a table on disk, it first waits for the
  // batch's Prefetch (not for others), and makes as much as that needs.
  void Load(Context& ctx, const Batch& batch);
  // updated: whether the slots were changed; REQUIRES: if so, Load(batch) was the last Load.
  void Release(Context& ctx, const Batch& batch, bool updated);
  // These do the same for many caches, all of ctx's device. They throw Error, before any cache has
  // changed, for a null cache, one that comes twice, and what the calls of one cache refuse.
  // PrefetchAll returns the batch of each.
  static std::vector<Batch> PrefetchAll(Context& ctx, std::span<const Request> requests);
  static void LoadAll(Context& ctx, std::span<const Use> uses);
  static void ReleaseAll(Context& ctx, std::span<const Use> uses);
  // Batches that were prefetched and not released.
  int64_t pending() const;

  // Writes changed rows back to the table (the host sees them after ctx.Sync()); lines stay.
  void Flush(Context& ctx);
  // Whether slots may hold updates that the whole table lacks: since the last Flush or Reset.
  bool holds_updates() const;
  // Forgets all lines without writing them back: before (after Flush) or after the table is
  // written. Throws Error while a batch is pending.
  void Reset(Context& ctx);
  // Runs fn() in the order of the cache's calls: for what looks at slots of no batch.
  template <typename Fn>
  void InOrder(Context& ctx, Fn&& fn) {
    Enter(ctx);
    FinishReads(ctx);
    fn();
    Leave(ctx);
  }

  // Waits for the device; changes nothing.
  CacheStats StatsSync(Context& ctx);

 private:
  friend class internal::CacheCalls;
  struct State;
  void Enter(Context& ctx);
  void Leave(Context& ctx);
  void FinishReads(Context& ctx);
  std::unique_ptr<State> state_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_CACHE_ROW_CACHE_H_
