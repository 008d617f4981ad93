#include "data/first_ids.h"

#include "runtime/tensor.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

std::vector<int64_t> FirstIds(Context& ctx, const Batch& batch, const std::string& feature) {
  const JaggedTensor bags = batch.features.At(ctx, feature);
  const auto ids = bags.values().value().To(ctx, DType::kI64).ToVector<int64_t>();
  const auto begins = bags.offsets(ctx).To(ctx, DType::kI64).ToVector<int64_t>();
  std::vector<int64_t> first;
  for (size_t row = 0; row + 1 < begins.size(); ++row)
    first.push_back(begins[row] < begins[row + 1] ? ids[static_cast<size_t>(begins[row])] : kNoId);
  return first;
}

}  // namespace tessera
