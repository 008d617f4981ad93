#include "embedding/managed_collision/managed_collision_module.h"

#include <algorithm>

#include "runtime/recorded_step.h"

namespace tessera {

std::vector<Tensor> ManagedCollisionModule::Forward(Context& ctx, std::span<const Tensor> ids,
                                                    bool training) {
  if (training)
    CheckIsNotRecording(ctx, "managed collision", "the host takes note of each training forward");
  std::vector<Tensor> contiguous;
  for (const Tensor& feature : ids) {
    CheckDevice(ctx, "managed collision", feature);
    TESSERA_CHECK_EQ(feature.rank(), 1, "managed collision: rank of the ids");
    TESSERA_CHECK(feature.dtype() == DType::kI64 || feature.dtype() == DType::kI32,
                  "managed collision: ids of type {}; expected i32 or i64", feature.dtype());
    contiguous.push_back(feature.Contiguous(ctx));
  }
  return Map(ctx, contiguous, training);
}

Tensor ManagedCollisionModule::Evict(Context& ctx) {
  Tensor rows = TakeEvicted(ctx);
  num_evicted_ += rows.numel();
  return rows;
}

void ManagedCollisionModule::EvictTo(Context& ctx,
                                     const std::function<void(const Tensor& rows)>& fn) {
  const Tensor rows = Evict(ctx);
  if (rows.numel() > 0) fn(rows);
}

bool ManagedCollisionModule::StartRows(const std::function<bool(const RowsToStart&)>&) {
  return false;
}

Tensor ManagedCollisionModule::TakeEvicted(Context& ctx) {
  ReadSync();
  Tensor rows = Tensor::From(ctx, Ascending(evicted_));
  evicted_.clear();
  return rows;
}

void ManagedCollisionModule::NoteUnread(const Tensor& forward) {
  unread_.push_back(forward);
  if (unread_.size() > kMaxUnread) ReadSync();
}

std::vector<int64_t> ManagedCollisionModule::ChangedSync(const Tensor&) const { return {}; }

std::vector<int64_t> ManagedCollisionModule::UnreadSync() const {
  std::vector<int64_t> rows;
  for (const Tensor& forward : unread_) {
    const std::vector<int64_t> read = ChangedSync(forward);
    rows.insert(rows.end(), read.begin(), read.end());
  }
  return rows;
}

void ManagedCollisionModule::ReadSync() {
  const std::vector<int64_t> rows = UnreadSync();
  NoteEvicted(rows);
  num_changed_ += std::ssize(rows);
  unread_.clear();
}

std::vector<int64_t> ManagedCollisionModule::Ascending(std::vector<int64_t> rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace tessera
