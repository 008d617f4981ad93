#include "data/batch_rows.h"

#include "runtime/tensor.h"

namespace tessera {
namespace {

KeyedJaggedTensor BagsOf(Context& ctx, const KeyedJaggedTensor& kjt, int64_t begin, int64_t end) {
  const Tensor lengths = kjt.lengths(ctx), offsets = kjt.offsets(ctx).To(ctx, DType::kI64).ToHost();
  std::vector<std::pair<std::string, JaggedTensor>> parts;
  for (size_t k = 0; k < kjt.keys().size(); ++k) {
    const int64_t bag = kjt.lengths_offset_per_key()[k];
    const int64_t* first = offsets.data<int64_t>() + bag;
    const auto ids_of = [&](const Tensor& all) { return all.Rows(first[begin], first[end]); };
    parts.emplace_back(
        kjt.keys()[k],
        JaggedTensor(ids_of(kjt.values()), lengths.Rows(bag + begin, bag + end), /*offsets=*/{},
                     kjt.is_weighted() ? Variable(ids_of(kjt.weights())) : Variable()));
  }
  return KeyedJaggedTensor::FromJtDict(ctx, parts);
}

}  // namespace

Batch RowsOfBatch(Context& ctx, const Batch& batch, int64_t begin, int64_t end) {
  Batch part = batch;
  part.dense = batch.dense.Rows(begin, end);
  for (Tensor* rows : {&part.labels, &part.weights, &part.time})
    if (*rows) *rows = rows->Rows(begin, end);
  part.features = BagsOf(ctx, batch.features, begin, end);
  return part;
}

}  // namespace tessera
