#include "tests/testing/rank_batches.h"

namespace tessera::testing {

KeyedJaggedTensor JoinedBatches(Context& ctx, const std::vector<std::string>& keys,
                                std::span<const RankBatch> batches, const JoinOptions& options) {
  std::vector<int64_t> ids, lengths, inverse;
  std::vector<float> weights;
  int64_t examples = 0;
  for (const RankBatch& batch : batches) examples += batch.examples;
  KeyedJaggedTensorArgs args{.keys = keys, .values = {}};
  for (const std::string& key : keys) {
    int64_t bags = 0;
    for (const RankBatch& batch : batches) {
      const KeyBags& k = batch.keys.at(key);
      for (const int64_t i : k.inverse) inverse.push_back(bags + i);
      for (size_t b = 0; b < k.bags.size(); ++b) {
        lengths.push_back(static_cast<int64_t>(k.bags[b].size()));
        ids.insert(ids.end(), k.bags[b].begin(), k.bags[b].end());
        weights.insert(weights.end(), k.weights[b].begin(), k.weights[b].end());
      }
      bags += static_cast<int64_t>(k.bags.size());
    }
    if (options.variable) args.stride_per_key_per_rank.push_back({bags});
  }
  args.values = Tensor::From(ctx, ids);
  args.lengths = Tensor::From(ctx, lengths);
  if (options.weighted)
    args.weights = Variable(Tensor::From(ctx, weights), options.weights_need_grad);
  const auto num_keys = static_cast<int64_t>(keys.size());
  if (options.variable)
    args.inverse_indices = {keys, Tensor::From(ctx, {num_keys, examples}, inverse)};
  else
    args.stride = examples;
  return KeyedJaggedTensor(std::move(args));
}

}  // namespace tessera::testing
