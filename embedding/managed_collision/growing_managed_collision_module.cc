#include "embedding/managed_collision/growing_managed_collision_module.h"

#include <utility>

#include "embedding/managed_collision/growing_rows.h"
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
    : shared_rows_(options.shared_rows), index_(std::move(options)) {
  TESSERA_CHECK_GE(shared_rows_, 1, "growing index: rows of ids without one");
}

Tensor GrowingManagedCollisionModule::RowsOf(Context& ctx, const Tensor& ids, bool training) {
  Tensor rows;
  if (training) {
    GrowingIndex::Inserted inserted = index_.Insert(ctx, ids);
    rows = std::move(inserted.rows);
    for (const int64_t row : inserted.reused) NoteEvicted(row + shared_rows_);
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

std::vector<NamedTensor> GrowingManagedCollisionModule::StateDict(Context& ctx) const {
  std::vector<NamedTensor> state = index_.StateDict(ctx);
  state.push_back({"_evicted_indices", Tensor::From(ctx, evicted_)});
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
  index_.LoadStateDict(ctx, of_index);
  evicted_ = std::move(evicted);
}

}  // namespace tessera
