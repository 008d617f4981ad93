#include "models/sharded_embedding_tower_collection.h"

#include <algorithm>
#include <numeric>

#include "runtime/ops/shaping.h"
#include "runtime/tensor.h"
#include "sharding/exchange/embeddings_all_to_all.h"
#include "sharding/exchange/kjt_all_to_all.h"
#include "sparse/regroup.h"

namespace tessera {

ShardedEmbeddingTowerCollection::ShardedEmbeddingTowerCollection(Context& ctx, Communicator& comm,
                                                                 std::vector<TowerPlace> towers)
    : comm_(comm), places_(std::move(towers)) {
  TESSERA_CHECK(!places_.empty(), "ShardedEmbeddingTowerCollection: no towers");
  for (size_t t = 0; t < places_.size(); ++t) {
    const TowerPlace& place = places_[t];
    TESSERA_CHECK(0 <= place.rank && place.rank < comm.size(),
                  "ShardedEmbeddingTowerCollection: tower {} on rank {} of {}", t, place.rank,
                  comm.size());
    towers_.emplace_back();
    if (place.rank != comm.rank()) continue;
    towers_[t] = place.make(ctx);
    TESSERA_CHECK(towers_[t] != nullptr, "ShardedEmbeddingTowerCollection: no tower {} was made",
                  t);
    TESSERA_CHECK_EQ(towers_[t]->is_weighted(), place.is_weighted,
                     "ShardedEmbeddingTowerCollection: whether tower {} takes weights", t);
  }
}

bool ShardedEmbeddingTowerCollection::Any(bool weighted) const {
  return std::any_of(places_.begin(), places_.end(),
                     [&](const TowerPlace& place) { return place.is_weighted == weighted; });
}

std::vector<std::string> ShardedEmbeddingTowerCollection::KeysOf(int rank, bool weighted) const {
  std::vector<std::string> keys;
  for (const TowerPlace& place : places_)
    if (place.rank == rank && place.is_weighted == weighted)
      for (const std::string& key : place.features)
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  return keys;
}

KeyedJaggedTensor ShardedEmbeddingTowerCollection::Gathered(Context& ctx,
                                                            const KeyedJaggedTensor* features,
                                                            bool weighted) const {
  if (!Any(weighted)) return {};
  TESSERA_CHECK(features != nullptr, "ShardedEmbeddingTowerCollection: a tower takes {}",
                weighted ? "weighted_features" : "features");
  std::vector<int64_t> order, splits;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const std::vector<std::string> keys = KeysOf(rank, weighted);
    for (const std::string& key : keys) order.push_back(features->IndexOf(key));
    splits.push_back(static_cast<int64_t>(keys.size()));
  }
  return KJTAllToAll(comm_, splits).Start(ctx, features->Permute(ctx, order)).Wait();
}

Variable ShardedEmbeddingTowerCollection::LocalOutputs(Context& ctx,
                                                       const KeyedJaggedTensor& features,
                                                       const KeyedJaggedTensor& weighted,
                                                       int64_t examples) {
  std::vector<Variable> outputs;
  for (size_t t = 0; t < places_.size(); ++t) {
    if (towers_[t] == nullptr) continue;
    outputs.push_back(towers_[t]->Forward(ctx, places_[t].is_weighted ? weighted : features));
    TESSERA_CHECK_EQ(outputs.back().shape(), (Shape{examples, places_[t].output_size}),
                     "ShardedEmbeddingTowerCollection: output of tower {}", t);
  }
  // The exchange's backward runs on every rank.
  if (outputs.empty()) return Variable(Tensor::Empty(ctx, {examples, 0}), ctx.tape() != nullptr);
  return Concat(ctx, outputs, 1);
}

Variable ShardedEmbeddingTowerCollection::InOrder(Context& ctx, const Variable& outputs) const {
  std::vector<int64_t> by_rank(places_.size()), offsets = {0}, permute(places_.size());
  std::iota(by_rank.begin(), by_rank.end(), int64_t{0});
  std::stable_sort(by_rank.begin(), by_rank.end(), [&](int64_t a, int64_t b) {
    return places_[static_cast<size_t>(a)].rank < places_[static_cast<size_t>(b)].rank;
  });
  for (size_t i = 0; i < by_rank.size(); ++i) {
    const auto t = static_cast<size_t>(by_rank[i]);
    offsets.push_back(offsets.back() + places_[t].output_size);
    permute[t] = static_cast<int64_t>(i);
  }
  return PermutePooledEmbs(ctx, outputs, offsets, permute);
}

Variable ShardedEmbeddingTowerCollection::Forward(Context& ctx, const KeyedJaggedTensor* features,
                                                  const KeyedJaggedTensor* weighted_features) {
  const KeyedJaggedTensor plain = Gathered(ctx, features, false),
                          weighted = Gathered(ctx, weighted_features, true);
  const int64_t own = (Any(false) ? features : weighted_features)->stride();
  const std::vector<std::vector<int64_t>> received = comm_.ExchangeNumbersSync(
      std::vector<std::vector<int64_t>>(static_cast<size_t>(comm_.size()), {own}),
      "examples of towers");
  std::vector<int64_t> batches, dims(static_cast<size_t>(comm_.size()), 0);
  for (const std::vector<int64_t>& n : received) batches.push_back(n[0]);
  for (const TowerPlace& place : places_)
    dims[static_cast<size_t>(place.rank)] += place.output_size;
  const Variable outputs = LocalOutputs(
      ctx, plain, weighted, std::accumulate(batches.begin(), batches.end(), int64_t{0}));
  return InOrder(ctx, PooledEmbeddingsAllToAll(comm_, dims).Start(ctx, outputs, batches).Wait());
}

void ShardedEmbeddingTowerCollection::AppendParameters(const std::string& prefix,
                                                       std::vector<NamedParameter>& out) const {
  for (size_t t = 0; t < towers_.size(); ++t)
    if (towers_[t] != nullptr) towers_[t]->AppendParameters(Format("{}towers.{}.", prefix, t), out);
}

}  // namespace tessera
