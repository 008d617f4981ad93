#include "embedding/managed_collision/growing_managed_collision_module.h"

#include <cstddef>
#include <utility>

#include "embedding/managed_collision/growing_rows.h"
#include "embedding/table/rows_to_start.h"
#include "runtime/device/dispatch.h"

namespace tessera {
namespace {

// Joins all features' ids: one call of the index does not evict what it names itself.
Tensor Joined(Context& ctx, std::span<const Tensor> features) {
  if (features.size() == 1) return features[0];
  int64_t total = 0;
  for (const Tensor& ids : features) total += ids.numel();
  const Tensor all = Tensor::Empty(ctx, {total}, DType::kI64);
  int64_t begin = 0;
  for (const Tensor& ids : features) {
    all.Rows(begin, begin + ids.numel()).CopyFrom(ctx, ids.To(ctx, DType::kI64));
    begin += ids.numel();
  }
  return all;
}

}  // namespace

GrowingManagedCollisionModule::GrowingManagedCollisionModule(GrowingIndexOptions options)
    : shared_rows_(options.shared_rows), index_(std::move(options)) {}

Tensor GrowingManagedCollisionModule::RowsOf(Context& ctx, const Tensor& ids, bool training) {
  Tensor rows;
  if (training) {
    GrowingIndex::Inserted inserted = index_.Insert(ctx, ids);
    rows = inserted.rows;
    for (const int64_t row : inserted.reused) NoteEvicted(row + shared_rows_);
    if (inserted.given) NoteUnread(inserted.given);
  } else {
    rows = index_.Find(ctx, ids);
  }
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::PlaceBehindShared(on, ctx, ids, shared_rows_, rows); });
  return rows;
}

std::vector<Tensor> GrowingManagedCollisionModule::Map(Context& ctx, std::span<const Tensor> ids,
                                                       bool training) {
  const Tensor all = Joined(ctx, ids);
  const Tensor rows = RowsOf(ctx, all, training);
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (const Tensor& feature : ids) {
    parts.push_back(rows.Rows(begin, begin + feature.numel()));
    begin += feature.numel();
  }
  return parts;
}

std::vector<int64_t> GrowingManagedCollisionModule::ChangedSync(const Tensor& given) const {
  GrowingIndex::Inserted inserted;
  inserted.given = given;
  inserted.ReadSync();
  for (int64_t& row : inserted.reused) row += shared_rows_;
  return inserted.reused;
}

void GrowingManagedCollisionModule::ReadSync() {
  ManagedCollisionModule::ReadSync();
  started_ = false;
}

int64_t GrowingManagedCollisionModule::num_evicted() const {
  return ManagedCollisionModule::num_evicted() + index_.num_reused_on_gpu() - NumChangedSync();
}

bool GrowingManagedCollisionModule::StartRows(
    const std::function<bool(const RowsToStart&)>& start) {
  if (!evicted_.empty()) return false;
  if (unread_.empty()) return started_;
  if (unread_.size() > 1) return false;
  const Tensor& given = unread_[0];
  const auto number = [&](size_t place) {
    const auto at = static_cast<int64_t>(place / sizeof(int64_t));
    return given.Rows(at, at + 1);
  };
  const RowsToStart rows = {
      .rows = given.Rows(internal::kGivenNumbers, given.numel()),
      .count = number(offsetof(internal::GrowingGiven, given)).data<int64_t>(),
      .first_row = shared_rows_,
      .in_use = number(offsetof(internal::GrowingGiven, rows_after)),
      .least = index_.least_num_rows() + shared_rows_,
      .most = index_.most_num_rows() + shared_rows_,
      .follows = started_};
  if (!start(rows)) return false;
  unread_.clear();
  started_ = true;
  return true;
}

std::vector<NamedTensor> GrowingManagedCollisionModule::StateDict(Context& ctx) const {
  std::vector<NamedTensor> state = index_.StateDict(ctx);
  std::vector<int64_t> evicted = evicted_;
  for (const int64_t row : UnreadSync()) evicted.push_back(row);
  state.push_back({"_evicted_indices", Tensor::From(ctx, evicted)});
  return state;
}

void GrowingManagedCollisionModule::LoadStateDict(Context& ctx,
                                                  const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> of_index;
  std::vector<int64_t> evicted;
  for (const NamedTensor& tensor : tensors)
    if (tensor.name == "_evicted_indices")
      evicted = tensor.tensor.ToVector<int64_t>();
    else
      of_index.push_back(tensor);
  for (const int64_t row : evicted)
    TESSERA_CHECK(row >= shared_rows_ && row < output_size(),
                  "state of a growing index: evicted row {}", row);
  ReadSync();
  index_.LoadStateDict(ctx, of_index);
  evicted_ = std::move(evicted);
}

}  // namespace tessera
