#include "embedding/table/own_batches.h"

#include <utility>

namespace tessera::internal {

KeyedJaggedTensor WithOwnBatches(Context& ctx, const KeyedJaggedTensor& kjt) {
  KeyedJaggedTensorArgs args{
      .keys = kjt.keys(), .values = kjt.values(), .weights = kjt.weights_or_none()};
  args.lengths = kjt.lengths(ctx);
  kjt.FindTotals(ctx);
  args.length_per_key = kjt.length_per_key();
  for (const int64_t bags : kjt.stride_per_key()) args.stride_per_key_per_rank.push_back({bags});
  return KeyedJaggedTensor(std::move(args));
}

}  // namespace tessera::internal
