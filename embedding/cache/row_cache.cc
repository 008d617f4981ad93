#include "embedding/cache/row_cache.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "embedding/cache/disk_side.h"
#include "embedding/cache/row_cache_impl.h"
#include "runtime/device/dispatch.h"
#include "runtime/staging.h"

namespace tessera {
namespace {

using internal::RowPart;
using internal::RowParts;

int64_t RowBytes(const Tensor& part) { return part.nbytes() / part.dim(0); }

Shape WithRows(Shape shape, int64_t rows) {
  shape[0] = rows;
  return shape;
}

void CheckParts(const Context& ctx, const std::vector<Tensor>& parts) {
  TESSERA_CHECK(!parts.empty() && parts.size() <= size_t{internal::kMaxRowParts},
                "row cache: a table of {} parts; expected 1 to {}", parts.size(),
                internal::kMaxRowParts);
  for (const Tensor& part : parts) {
    CheckDevice(ctx, "row cache", part);
    TESSERA_CHECK(part.is_contiguous() && part.numel() > 0 && part.dim(0) == parts[0].dim(0),
                  "row cache: a part of shape {} of a table of {} rows; expected as many rows, "
                  "contiguous",
                  part.shape(), parts[0].dim(0));
  }
}

// The number of sets, no more than the table needs.
int64_t NumSets(const std::vector<Tensor>& parts, const CacheConfig& config) {
  const int64_t rows = parts[0].dim(0), ways = config.ways;
  int64_t line_bytes = 0;
  for (const Tensor& part : parts) line_bytes += RowBytes(part);
  const int64_t sets =
      config.bytes > 0
          ? config.bytes / line_bytes / ways
          : static_cast<int64_t>(std::ceil(static_cast<double>(rows) * config.load_factor /
                                           static_cast<double>(ways)));
  TESSERA_CHECK_GE(sets, 1, "row cache of {} bytes: sets of {} ways of {} bytes each", config.bytes,
                   ways, line_bytes);
  return std::min(sets, (rows + ways - 1) / ways);
}

// The largest power of 2 up to 16 that divides the length of a row, its address in the table (on
// disk: in the staged records), and that in the slots.
int PieceBytes(int64_t row_bytes, uint64_t in_table, const Tensor& slots) {
  const uint64_t all = static_cast<uint64_t>(row_bytes) | in_table |
                       reinterpret_cast<uint64_t>(slots.raw_data()) | 16u;
  return static_cast<int>(all & (~all + 1));
}

}  // namespace

struct RowCache::Batch::State {
  internal::BatchTensors tensors;
  Tensor slots;                             // the caller's
  std::unique_ptr<HostCopy> num_conflicts;  // null where nobody asks for it
  int64_t call = 0;

  int64_t Conflicts() const { return num_conflicts->Wait().data<int32_t>()[0]; }
  void RecordStream(const Context& ctx) const {
    for (const Tensor& t : {tensors.rows, tensors.slots, tensors.count, tensors.conflicts,
                            tensors.num_conflicts, slots})
      t.RecordStream(ctx);
  }
};

struct RowCache::State {
  CacheConfig config;
  std::vector<Tensor> tables, slots;  // parts
  std::unique_ptr<internal::DiskSide> disk;
  Tensor row_ids, ranks, locks, dirty, counters;
  int64_t sets = 1, scratch = 0, calls = 0;
  std::vector<std::shared_ptr<Batch::State>> pending;
  const Batch::State* loaded = nullptr;  // whose rows are in scratch
  bool holds_updates = false;
  Event last_call;
  void* last_stream = nullptr;

  int64_t num_rows() const { return tables[0].dim(0); }
  // Whether the host has to know which rows of a batch found no line: room for them is made by that
  // number, or they come from a disk.
  bool AsksForConflicts() const { return disk != nullptr || config.scratch_rows > 0; }
  int64_t lines() const { return sets * config.ways; }

  internal::CacheView View() const {
    return {{internal::RowHash::Of(num_rows()), sets, config.ways,
             config.policy == CachePolicy::kLfu, row_ids.data<int64_t>(), ranks.data<int64_t>(),
             locks.data<int32_t>(), dirty.data<uint8_t>()},
            Parts(),
            num_rows(),
            counters.data<int64_t>()};
  }
  RowParts Parts() const {
    RowParts parts;
    parts.on_disk = disk != nullptr;
    for (size_t p = 0; p < tables.size(); ++p) {
      const int64_t row_bytes = RowBytes(tables[p]);
      char* const in_slots = static_cast<char*>(slots[p].raw_data());
      char* const table = disk ? in_slots : static_cast<char*>(tables[p].raw_data());
      const auto address = disk ? static_cast<uint64_t>(disk->table().offset(static_cast<int>(p)))
                                : reinterpret_cast<uint64_t>(table);
      const int piece_bytes = PieceBytes(row_bytes, address, slots[p]);
      parts.part[parts.count++] = {.table = table,
                                   .slots = in_slots,
                                   .row_bytes = row_bytes,
                                   .table_stride = disk ? disk->table().staged_bytes() : row_bytes,
                                   .piece_bytes = piece_bytes,
                                   .first_piece = parts.pieces};
      parts.pieces += row_bytes / piece_bytes;
    }
    return parts;
  }

  // Slots that never held a row are 0, so that a reader of all slots finds valid numbers.
  void MakeSlots(Context& ctx) {
    for (const Tensor& table : tables)
      slots.push_back(
          Tensor::Zeros(ctx, WithRows(table.shape(), lines() + scratch), table.dtype()));
    row_ids = Tensor::Full(ctx, {lines() + scratch}, -1, DType::kI64);
    ranks = Tensor::Full(ctx, {lines()}, -1, DType::kI64);
    locks = Tensor::Zeros(ctx, {lines()}, DType::kI32);
    dirty = Tensor::Zeros(ctx, {lines()}, DType::kU8);
  }
  void GrowScratch(Context& ctx, int64_t rows) {
    scratch = rows;
    loaded = nullptr;
    const auto grow = [&](Tensor& tensor) {
      const Tensor wider =
          Tensor::Zeros(ctx, WithRows(tensor.shape(), lines() + scratch), tensor.dtype());
      wider.Rows(0, lines()).CopyFrom(ctx, tensor.Rows(0, lines()));
      tensor = wider;
    };
    for (Tensor& part : slots) grow(part);
    grow(row_ids);
  }

  void RecordStream(const Context& ctx) const {
    for (const Tensor& t : slots) t.RecordStream(ctx);
    if (!disk)
      for (const Tensor& t : tables) t.RecordStream(ctx);
    for (const Tensor& t : {row_ids, ranks, locks, dirty, counters}) t.RecordStream(ctx);
  }

  // Waits for the reads of a batch's prefetch and of earlier ones; for all reads if the batch has
  // rows without a line, since these may move between lines and scratch.
  void FinishReads(Context& ctx, const Batch::State& batch) {
    if (!disk) return;
    const bool all = batch.Conflicts() > 0;
    disk->FinishReads(ctx, View(), all ? calls : batch.call);
  }

  Batch::State& Pending(const Batch& batch) const {
    TESSERA_CHECK(std::find(pending.begin(), pending.end(), batch.state_) != pending.end(),
                  "row cache: a batch that was not prefetched, or is released already");
    return *batch.state_;
  }
};

RowCache::RowCache(Context& ctx, std::vector<Tensor> parts, const CacheConfig& config,
                   std::shared_ptr<DiskTable> disk)
    : state_(std::make_unique<State>()) {
  CheckParts(ctx, parts);
  CheckCacheConfig(config);
  State& s = *state_;
  s.config = config;
  s.tables = std::move(parts);
  if (disk) {
    TESSERA_CHECK(disk->rows() == s.num_rows() && disk->num_parts() == std::ssize(s.tables),
                  "row cache: {} parts of {} rows; on disk there are {} parts of {} rows",
                  s.tables.size(), s.num_rows(), disk->num_parts(), disk->rows());
    s.disk = std::make_unique<internal::DiskSide>(std::move(disk));
  }
  s.sets = NumSets(s.tables, config);
  s.scratch = std::min(config.scratch_rows, s.num_rows());
  const int set_bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(s.sets)));
  TESSERA_CHECK_LE(internal::RowHash::Of(s.num_rows()).bits + set_bits, 64,
                   "row cache: bits of {} rows and {} sets", s.num_rows(), s.sets);
  s.MakeSlots(ctx);
  s.counters = Tensor::Zeros(ctx, {internal::kCacheCounters}, DType::kI64);
  s.last_stream = ctx.stream().handle();
}

RowCache::~RowCache() = default;

int64_t RowCache::lines() const { return state_->lines(); }
const CacheConfig& RowCache::config() const { return state_->config; }
const Tensor& RowCache::slots_of_part(int p) const {
  return state_->slots.at(static_cast<size_t>(p));
}
const Tensor& RowCache::row_ids() const { return state_->row_ids; }
int64_t RowCache::pending() const { return static_cast<int64_t>(state_->pending.size()); }

void RowCache::Enter(Context& ctx) {
  TESSERA_CHECK(ctx.stream().capture() == nullptr,
                "row cache: which rows move differs from batch to batch, so its calls cannot be "
                "recorded in a CUDA graph");
  State& s = *state_;
  // Kernels of two calls work on the same lines: one on another stream waits for the one before.
  if (ctx.stream().handle() == s.last_stream) return;
  s.last_call.HoldBack(ctx.stream());
  s.RecordStream(ctx);
}

void RowCache::FinishReads(Context& ctx) {
  State& s = *state_;
  if (s.disk) s.disk->FinishReads(ctx, s.View(), s.calls);
}

void RowCache::Leave(Context& ctx) {
  state_->last_call = Event::Record(ctx.stream());
  state_->last_stream = ctx.stream().handle();
}

RowCache::Batch RowCache::Prefetch(Context& ctx, std::span<const CachedIds> features,
                                   const Tensor& slots) {
  CheckDevice(ctx, "row cache", slots);
  TESSERA_CHECK(
      slots.dtype() == DType::kI64 && slots.is_contiguous() && slots.numel() < int64_t{1} << 31,
      "row cache: slots {} of {}; expected i64, contiguous, fewer than 2^31", slots.shape(),
      slots.dtype());
  Batch batch;
  batch.state_ = std::make_shared<Batch::State>();
  batch.state_->slots = slots;
  internal::BatchTensors& tensors = batch.state_->tensors;
  for (const CachedIds& f : features) {
    CheckDevice(ctx, "row cache", f.ids);
    VisitIndexType(f.ids.dtype(), "ids", []<typename>() {});
    TESSERA_CHECK(f.ids.is_contiguous() && f.ids.numel() == slots.numel() && f.begin >= 0 &&
                      f.begin <= f.end && f.end <= slots.numel(),
                  "row cache: ids [{}, {}) of {} with {} slots", f.begin, f.end, f.ids.shape(),
                  slots.numel());
    tensors.num_ids += f.end - f.begin;
  }
  TESSERA_CHECK_LT(tensors.num_ids, int64_t{1} << 31, "row cache: ids of a batch");

  State& s = *state_;
  if (s.disk) s.disk->table().log().CheckWritten();
  Enter(ctx);
  ReleaseAbandoned(ctx);
  batch.state_->call = ++s.calls;
  if (tensors.num_ids > 0) {
    const internal::CacheView view = s.View();
    DispatchDevice(ctx.device(), [&](auto on) {
      internal::CacheRun(on, ctx, view).Prefetch(s.calls, features, slots, tensors);
    });
    // The number of rows without a line is read when the batch is loaded, if at all: a prefetch
    // waits for nothing.
    if (s.AsksForConflicts())
      batch.state_->num_conflicts = std::make_unique<HostCopy>(ctx, tensors.num_conflicts);
    if (s.disk) {
      s.disk->Prefetch(ctx, view, s.calls, tensors);
      tensors.moves = tensors.num_moves = {};
    }
  }
  s.pending.push_back(batch.state_);
  Leave(ctx);
  return batch;
}

void RowCache::ReserveScratch(Context& ctx, const Batch::State& batch) {
  State& s = *state_;
  // If scratch has room for all ids of the batch, the host need not wait for the count.
  const int64_t most = std::min(batch.tensors.num_ids, s.num_rows());
  if (most <= s.scratch) return;
  // A little more than asked for: batches that grow step by step do not move the slots each time.
  if (!s.AsksForConflicts()) return s.GrowScratch(ctx, std::min(most + most / 8, s.num_rows()));
  const int64_t needed = batch.Conflicts();
  if (needed <= s.scratch) return;
  // Work on ctx may still use the slots that are about to be freed.
  ctx.Sync();
  s.GrowScratch(ctx, std::min(std::max(needed, 2 * s.scratch), s.num_rows()));
}

void RowCache::Load(Context& ctx, const Batch& batch) {
  State& s = *state_;
  const Batch::State& b = s.Pending(batch);
  Enter(ctx);
  if (s.loaded != &b && b.tensors.num_ids > 0) {
    b.RecordStream(ctx);
    s.FinishReads(ctx, b);
    ReserveScratch(ctx, b);
    s.loaded = nullptr;  // scratch is written from here on
    const internal::CacheView view = s.View();
    if (s.disk)
      s.disk->LoadScratch(ctx, view, b.tensors, b.Conflicts(), s.scratch);
    else
      DispatchDevice(ctx.device(), [&](auto on) {
        internal::CacheRun(on, ctx, view).LoadScratch(b.tensors, s.scratch);
      });
  }
  s.loaded = &b;
  Leave(ctx);
}

void RowCache::Release(Context& ctx, const Batch& batch, bool updated) {
  Batch::State& b = state_->Pending(batch);
  TESSERA_CHECK(!updated || state_->loaded == &b,
                "row cache: a batch was updated that was not the last to be loaded");
  Enter(ctx);
  ReleaseNow(ctx, b, updated);
  Leave(ctx);
}

void RowCache::ReleaseNow(Context& ctx, Batch::State& batch, bool updated) {
  State& s = *state_;
  if (batch.tensors.num_ids > 0) {
    batch.RecordStream(ctx);
    if (updated) s.FinishReads(ctx, batch);
    s.holds_updates = s.holds_updates || updated;
    const internal::CacheView view = s.View();
    if (updated && s.disk)
      s.disk->StoreScratch(ctx, view, batch.tensors, batch.Conflicts(), s.scratch);
    DispatchDevice(ctx.device(), [&](auto on) {
      const internal::CacheRun run(on, ctx, view);
      if (updated && !s.disk) run.StoreScratch(batch.tensors, s.scratch);
      run.Unlock(batch.tensors, updated);
    });
  }
  if (s.loaded == &batch) s.loaded = nullptr;
  std::erase_if(s.pending, [&](const auto& p) { return p.get() == &batch; });
}

// A batch whose only owner is this list cannot be released by its caller any more: it would hold
// its lines for ever.
void RowCache::ReleaseAbandoned(Context& ctx) {
  const std::vector<std::shared_ptr<Batch::State>> pending = std::exchange(state_->pending, {});
  for (const auto& batch : pending)
    if (batch.use_count() > 1) state_->pending.push_back(batch);
  for (const auto& batch : pending)
    if (batch.use_count() == 1) ReleaseNow(ctx, *batch, /*updated=*/false);
}

void RowCache::Flush(Context& ctx) {
  InOrder(ctx, [&] {
    const internal::CacheView view = state_->View();
    if (state_->disk) return state_->disk->Flush(ctx, view);
    DispatchDevice(ctx.device(), [&](auto on) { internal::CacheRun(on, ctx, view).Flush(); });
  });
  state_->holds_updates = false;
}

bool RowCache::holds_updates() const { return state_->holds_updates; }

void RowCache::Reset(Context& ctx) {
  State& s = *state_;
  InOrder(ctx, [&] {
    ReleaseAbandoned(ctx);
    TESSERA_CHECK(s.pending.empty(), "row cache: Reset while {} prefetched batches are pending",
                  s.pending.size());
    for (const Tensor& part : s.slots) part.Fill(ctx, 0);
    s.row_ids.Fill(ctx, -1);
    s.ranks.Fill(ctx, -1);
    s.dirty.Fill(ctx, 0);
  });
  s.holds_updates = false;
}

CacheStats RowCache::StatsSync(Context& ctx) {
  Enter(ctx);
  const std::vector<int64_t> c = state_->counters.To(ctx, Device::Cpu()).ToVector<int64_t>();
  const int64_t unique = c[internal::kUnique], misses = c[internal::kMisses];
  return {.calls = state_->calls,
          .requested = c[internal::kRequested],
          .unique = unique,
          .hits = unique - misses,
          .misses = misses,
          .conflict_misses = c[internal::kConflictMisses],
          .evictions = c[internal::kEvictions],
          .write_backs = c[internal::kWriteBacks]};
}

}  // namespace tessera
