#include "embedding/cache/row_cache.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "embedding/cache/cache_calls.h"
#include "embedding/cache/row_cache_state.h"
#include "embedding/config/cache_size.h"
#include "runtime/device/dispatch.h"

namespace tessera {
namespace {

int64_t RowBytes(const Tensor& part) { return part.nbytes() / part.dim(0); }

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
  int64_t line_bytes = 0;
  for (const Tensor& part : parts) line_bytes += RowBytes(part);
  CheckCacheBytes(config, line_bytes);
  return NumCacheLines(config, parts[0].dim(0), line_bytes) / config.ways;
}

// Checks what a prefetch was given; returns the number of ids.
int64_t CheckedIds(const Context& ctx, std::span<const CachedIds> features, const Tensor& slots) {
  CheckDevice(ctx, "row cache", slots);
  TESSERA_CHECK(
      slots.dtype() == DType::kI64 && slots.is_contiguous() && slots.numel() < int64_t{1} << 31,
      "row cache: slots {} of {}; expected i64, contiguous, fewer than 2^31", slots.shape(),
      slots.dtype());
  int64_t num_ids = 0;
  for (const CachedIds& f : features) {
    CheckDevice(ctx, "row cache", f.ids);
    VisitIndexType(f.ids.dtype(), "ids", []<typename>() {});
    TESSERA_CHECK(f.ids.is_contiguous() && f.ids.numel() == slots.numel() && f.begin >= 0 &&
                      f.begin <= f.end && f.end <= slots.numel(),
                  "row cache: ids [{}, {}) of {} with {} slots", f.begin, f.end, f.ids.shape(),
                  slots.numel());
    num_ids += f.end - f.begin;
  }
  TESSERA_CHECK_LT(num_ids, int64_t{1} << 31, "row cache: ids of a batch");
  return num_ids;
}

// `all`: requests or uses.
template <typename Item>
void CheckCaches(std::span<const Item> all) {
  std::set<const RowCache*> caches;
  for (const Item& item : all) {
    TESSERA_CHECK(item.cache != nullptr, "row caches: number {} of {} is null", caches.size(),
                  all.size());
    TESSERA_CHECK(caches.insert(item.cache).second,
                  "row caches: number {} of {} came before; a call names each cache once",
                  caches.size(), all.size());
  }
}

}  // namespace

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
  const Request request = {this, {features.begin(), features.end()}, slots};
  return PrefetchAll(ctx, {&request, 1})[0];
}

std::vector<RowCache::Batch> RowCache::PrefetchAll(Context& ctx,
                                                   std::span<const Request> requests) {
  CheckCaches(requests);
  std::vector<Batch> batches(requests.size());
  std::vector<internal::CacheCalls::Prefetching> calls;
  for (size_t r = 0; r < requests.size(); ++r) {
    const Request& request = requests[r];
    batches[r].state_ = std::make_shared<Batch::State>();
    batches[r].state_->rows.num_ids = CheckedIds(ctx, request.features, request.slots);
    batches[r].state_->slots = request.slots;
    calls.push_back({request.cache, request.features, batches[r].state_});
  }
  internal::CacheCalls(ctx).Prefetch(calls);
  return batches;
}

void RowCache::Load(Context& ctx, const Batch& batch) {
  const Use use = {this, batch};
  LoadAll(ctx, {&use, 1});
}

void RowCache::LoadAll(Context& ctx, std::span<const Use> uses) {
  CheckCaches(uses);
  std::vector<internal::CacheCalls::Using> calls;
  for (const Use& u : uses) calls.push_back({u.cache, &u.cache->state_->Pending(u.batch)});
  internal::CacheCalls(ctx).Load(calls);
}

void RowCache::Release(Context& ctx, const Batch& batch, bool updated) {
  const Use use = {this, batch, updated};
  ReleaseAll(ctx, {&use, 1});
}

void RowCache::ReleaseAll(Context& ctx, std::span<const Use> uses) {
  CheckCaches(uses);
  std::vector<internal::CacheCalls::Using> calls;
  for (const Use& u : uses) {
    calls.push_back({u.cache, &u.cache->state_->Pending(u.batch), u.updated});
    TESSERA_CHECK(!u.updated || u.cache->state_->loaded == calls.back().batch,
                  "row cache: a batch was updated that was not the last to be loaded");
  }
  internal::CacheCalls(ctx).Release(calls);
}

void RowCache::Flush(Context& ctx) {
  InOrder(ctx, [&] {
    const internal::CacheView view = state_->View();
    if (state_->disk) return state_->disk->Flush(ctx, view);
    DispatchDevice(ctx.device(), [&](auto on) { internal::CacheRun(on, ctx).Flush(view); });
  });
  state_->holds_updates = false;
}

bool RowCache::holds_updates() const { return state_->holds_updates; }

void RowCache::Reset(Context& ctx) {
  State& s = *state_;
  InOrder(ctx, [&] {
    internal::CacheCalls(ctx).ReleaseAbandoned(*this);
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
