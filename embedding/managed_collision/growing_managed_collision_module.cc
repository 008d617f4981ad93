#include "embedding/managed_collision/growing_managed_collision_module.h"

#include <utility>

#include "embedding/row_ops.h"

namespace tessera {
namespace {

// All features' ids as one: what one call of the index names, it does not evict.
Tensor Joined(Context& ctx, std::span<const Tensor> features) {
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

std::vector<Tensor> GrowingManagedCollisionModule::Map(Context& ctx, std::span<const Tensor> ids,
                                                       bool training) {
  const Tensor all = Joined(ctx, ids);
  Tensor rows;
  if (training) {
    GrowingIndex::Inserted inserted = index_.Insert(ctx, all);
    rows = inserted.rows;
    for (const int64_t row : inserted.reused) NoteEvicted(row);
  } else {
    rows = index_.Find(ctx, all);
  }
  for (int64_t& row : rows.span<int64_t>()) row = row < 0 ? index_.max_rows() : row;
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
    TESSERA_CHECK(IsRow(row, index_.max_rows()), "state of a growing index: evicted row {}", row);
  index_.LoadStateDict(ctx, of_index);
  evicted_ = std::move(evicted);
}

}  // namespace tessera
