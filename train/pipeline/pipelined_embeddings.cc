#include "train/pipeline/pipelined_embeddings.h"

namespace tessera {
namespace {

class PipelinedTables final : public PipelinedEmbeddings {
 public:
  explicit PipelinedTables(EmbeddingBagCollection& collection) : collection_(collection) {}

  bool alone() const override { return true; }

  void Prefetch(Context& ctx, const InputAhead& input) override {
    collection_.tables().Prefetch(ctx, input.features);
  }
  Awaitable<KeyedTensor> Lookup(Context& ctx, const InputAhead& input) override {
    return Awaitable<KeyedTensor>(
        [looked_up = collection_.Forward(ctx, input.features)] { return looked_up; });
  }
  ForwardAhead& ahead() override { return collection_.ahead(); }
  void ForgetPrefetched() override { collection_.tables().ForgetPrefetched(); }
  void AllowForwardsAhead(int forwards) override {
    collection_.tables().AllowForwardsAhead(forwards);
  }
  std::function<void()> KeepCounters() override {
    TableBatchedEmbedding& tables = collection_.tables();
    std::vector<int64_t> of_table;
    for (int t = 0; t < tables.num_tables(); ++t) of_table.push_back(tables.iter(t));
    return [&tables, iter = tables.iter(), of_table] {
      tables.set_iter(iter);
      for (int t = 0; t < tables.num_tables(); ++t)
        tables.set_iter(t, of_table[static_cast<size_t>(t)]);
    };
  }

 private:
  std::optional<tessera::InputDist> Distribute(Context&, const KeyedJaggedTensor&) override {
    return std::nullopt;
  }

  EmbeddingBagCollection& collection_;
};

class PipelinedShards final : public PipelinedEmbeddings {
 public:
  explicit PipelinedShards(ShardedEmbeddingBagCollection& collection)
      : collection_(collection), comm_(collection.tables().comm().Companion("input_dist")) {}

  bool alone() const override { return comm_.size() == 1; }

  void Prefetch(Context& ctx, const InputAhead& input) override {
    collection_.tables().Prefetch(ctx, *input.dist);
  }
  Awaitable<KeyedTensor> Lookup(Context& ctx, const InputAhead& input) override {
    return collection_.ComputeAndOutputDist(ctx, input.features, *input.dist);
  }
  ForwardAhead& ahead() override { return collection_.ahead(); }
  void ForgetPrefetched() override { collection_.tables().ForgetPrefetched(); }
  void AllowForwardsAhead(int forwards) override {
    collection_.tables().AllowForwardsAhead(forwards);
  }
  std::function<void()> KeepCounters() override {
    return [&tables = collection_.tables(), iter = collection_.tables().iter()] {
      tables.set_iter(iter);
    };
  }

 private:
  std::optional<tessera::InputDist> Distribute(Context& ctx,
                                               const KeyedJaggedTensor& features) override {
    return collection_.tables().StartInputDist(ctx, features, comm_).Wait();
  }

  ShardedEmbeddingBagCollection& collection_;
  Communicator& comm_;
};

}  // namespace

void RecordStream(const KeyedJaggedTensor& features, const Context& ctx) {
  features.values().RecordStream(ctx);
  features.lengths_or_none().RecordStream(ctx);
  features.offsets_or_none().RecordStream(ctx);
  if (features.is_weighted()) features.weights().value().RecordStream(ctx);
  if (const InverseIndices* inverse = features.inverse_indices_or_none())
    inverse->indices.RecordStream(ctx);
}

void InputAhead::RecordStream(const Context& ctx) const {
  tessera::RecordStream(features, ctx);
  if (!dist) return;
  for (const std::vector<Tensor>& of_rank : dist->home().positions)
    for (const Tensor& positions : of_rank) positions.RecordStream(ctx);
  for (const DistFeature& feature : dist->home().features) feature.ids.RecordStream(ctx);
  tessera::RecordStream(dist->away().kjt, ctx);
}

InputAhead PipelinedEmbeddings::InputDist(Context& ctx, const KeyedJaggedTensor& features) {
  TESSERA_CHECK(!features.weights_or_none().requires_grad(),
                "a pipeline's batch has weights that need a gradient: without a pipeline they get "
                "one");
  return {features, Distribute(ctx, features)};
}

std::unique_ptr<PipelinedEmbeddings> Pipelined(EmbeddingBagCollection& collection) {
  return std::make_unique<PipelinedTables>(collection);
}

std::unique_ptr<PipelinedEmbeddings> Pipelined(ShardedEmbeddingBagCollection& collection) {
  return std::make_unique<PipelinedShards>(collection);
}

}  // namespace tessera
