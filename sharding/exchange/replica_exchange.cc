#include "sharding/exchange/replica_exchange.h"

#include <algorithm>
#include <utility>

#include "sharding/exchange/input_dist.h"

namespace tessera {
namespace {

// The layout that sends every key to every rank.
DistLayout ToAll(size_t keys, size_t ranks) {
  ShardingPlan plan;
  plan.world_size = static_cast<int>(ranks);
  DistLayout layout({}, {}, plan);
  layout.tables_text = "data_parallel tables";
  for (DistRank& rank : layout.ranks)
    for (size_t k = 0; k < keys; ++k)
      rank.streams.push_back({.feature = static_cast<int>(k), .whole = true});
  return layout;
}

KeyedJaggedTensor Renamed(Context& ctx, const KeyedJaggedTensor& kjt,
                          std::vector<std::string> keys) {
  KeyedJaggedTensorArgs args{
      .keys = std::move(keys), .values = kjt.values(), .weights = kjt.weights_or_none()};
  args.lengths = kjt.lengths(ctx);
  args.length_per_key = kjt.length_per_key();
  args.stride_per_key_per_rank = kjt.stride_per_key_per_rank();
  return KeyedJaggedTensor(std::move(args));
}

class ReplicaExchange {
 public:
  ReplicaExchange(Communicator& comm, const std::vector<EmbeddingFeature>& features,
                  const std::vector<BaseEmbeddingConfig>& tables)
      : comm_(comm) {
    for (const EmbeddingFeature& f : features) {
      const auto key = std::find(keys_.begin(), keys_.end(), f.key);
      key_of_feature_.push_back(static_cast<size_t>(key - keys_.begin()));
      if (key == keys_.end()) keys_.push_back(f.key);
      dims_.push_back(tables[static_cast<size_t>(f.table)].embedding_dim);
    }
    layout_ =
        std::make_shared<const DistLayout>(ToAll(keys_.size(), static_cast<size_t>(comm.size())));
  }

  UpdateBatch operator()(Context& ctx, UpdateBatch own) const {
    const NoGrad no_grad(ctx);
    std::vector<DistFeature> read;
    for (const std::string& key : keys_) read.push_back(FeatureOfKey(own.kjt, key));
    const InputDist dist = InputDist::Start(ctx, layout_, comm_, own.kjt, std::move(read)).Wait();
    UpdateBatch all = {Renamed(ctx, dist.received().kjt, keys_), {}, {}};
    if (own.pooled) {
      std::vector<int64_t> counts;
      for (const std::vector<int64_t>& bags : dist.received().bags)
        counts.push_back(PooledSize(bags));
      all.pooled =
          comm_.AllGatherV(ctx, own.pooled.Reshape({-1}), counts, "data_parallel, gradients")
              .Wait();
    }
    // Features with pooling NONE have one gradient each; the others' gradients are in `pooled`.
    for (size_t f = 0; f < own.sequences.size(); ++f) {
      std::vector<int64_t> counts;
      for (const std::vector<int64_t>& ids : dist.received().ids)
        counts.push_back(ids[key_of_feature_[f]]);
      all.sequences.push_back(
          comm_.AllGatherV(ctx, own.sequences[f], counts, "data_parallel, gradients").Wait());
    }
    return all;
  }

 private:
  // Elements of a rank's pooled gradients, by the bags of its keys.
  int64_t PooledSize(const std::vector<int64_t>& bags) const {
    int64_t elements = 0;
    for (size_t f = 0; f < dims_.size(); ++f) elements += bags[key_of_feature_[f]] * dims_[f];
    return elements;
  }

  Communicator& comm_;
  std::vector<std::string> keys_;
  std::vector<size_t> key_of_feature_;
  std::vector<int64_t> dims_;  // of features
  std::shared_ptr<const DistLayout> layout_;
};

}  // namespace

std::function<UpdateBatch(Context&, UpdateBatch)> ExchangeWithReplicas(
    Communicator& comm, const std::vector<EmbeddingFeature>& features,
    const std::vector<BaseEmbeddingConfig>& tables) {
  return ReplicaExchange(comm, features, tables);
}

}  // namespace tessera
