#include "train/pipeline/pipelined_embeddings.h"

#include <utility>

#include "runtime/tensor.h"
#include "sharding/exchange/dedup.h"
#include "sharding/exchange/node/node_dedup.h"
#include "train/pipeline/collection_outputs.h"
#include "train/pipeline/own_companion.h"

namespace tessera {
namespace {

template <typename Output>
class LookupOf final : public LookupAhead {
 public:
  explicit LookupOf(Awaitable<Output> rows) : rows_(std::move(rows)) {}

  std::vector<Variable> Variables() override { return internal::VariablesOf(output()); }
  void Replace(const Context& ctx, std::vector<Variable> variables) override {
    internal::RecordStream(output(), ctx);
    output_ = internal::WithVariables(std::move(output()), std::move(variables));
  }
  Output& output() {
    if (!output_) output_ = rows_.Wait();
    return *output_;
  }

 private:
  Awaitable<Output> rows_;
  std::optional<Output> output_;
};

// A collection whose forwards are answered with rows that were looked up ahead.
template <typename Collection>
class AnsweredCollection : public PipelinedEmbeddings {
 public:
  using Output = decltype(std::declval<Collection&>().Forward(
      std::declval<Context&>(), std::declval<const KeyedJaggedTensor&>()));

  explicit AnsweredCollection(Collection& collection) : collection_(collection) {}

  bool AnswerNext(const KeyedJaggedTensor& features, Answer answer,
                  TakesPrecomputed takes) override {
    collection_.ahead().Set(
        features,
        [answer = std::move(answer)](Context& ctx) {
          return std::move(static_cast<LookupOf<Output>&>(*answer(ctx)).output());
        },
        std::move(takes));
    return true;
  }
  void ForgetAnswer() override { collection_.ahead().Clear(); }

 protected:
  static std::shared_ptr<LookupAhead> Of(Awaitable<Output> rows) {
    return std::make_shared<LookupOf<Output>>(std::move(rows));
  }

  Collection& collection_;
};

template <typename Collection>
class PipelinedTables final : public AnsweredCollection<Collection> {
 public:
  using AnsweredCollection<Collection>::AnsweredCollection;

  bool alone() const override { return true; }

  std::shared_ptr<LookupAhead> Lookup(Context& ctx, const InputAhead& input) override {
    return this->Of(Awaitable<typename AnsweredCollection<Collection>::Output>(
        [looked_up = this->collection_.Forward(ctx, input.features)] { return looked_up; }));
  }
  void Prefetch(Context& ctx, const InputAhead& input) override {
    tables().caches().Prefetch(ctx, input.features);
  }
  void ForgetPrefetched() override { tables().caches().ForgetPrefetched(); }
  void AllowForwardsAhead(int forwards) override { tables().AllowForwardsAhead(forwards); }
  std::function<void()> KeepCounters() override {
    std::vector<int64_t> of_table;
    for (int t = 0; t < tables().num_tables(); ++t) of_table.push_back(tables().iter(t));
    return [&tables = tables(), iter = tables().iter(), of_table] {
      tables.set_iter(iter);
      for (int t = 0; t < tables.num_tables(); ++t)
        tables.set_iter(t, of_table[static_cast<size_t>(t)]);
    };
  }

 private:
  TableBatchedEmbedding& tables() { return this->collection_.tables(); }
  std::optional<tessera::InputDist> Distribute(Context&, const KeyedJaggedTensor&) override {
    return std::nullopt;
  }
};

// A sharded collection whose ids travel ahead.
template <typename Collection>
class AnsweredShards : public AnsweredCollection<Collection> {
 public:
  explicit AnsweredShards(Collection& collection)
      : AnsweredCollection<Collection>(collection), companion_(collection.tables().comm()) {
    collection.tables().PrepareInputDist(companion_.comm());
  }

  bool alone() const override { return companion_.comm().size() == 1; }

  std::shared_ptr<LookupAhead> Lookup(Context& ctx, const InputAhead& input) override {
    return this->Of(this->collection_.ComputeAndOutputDist(ctx, input.features, *input.dist));
  }

 protected:
  ShardedTables& tables() { return this->collection_.tables(); }

 private:
  std::optional<tessera::InputDist> Distribute(Context& ctx,
                                               const KeyedJaggedTensor& features) override {
    return tables().StartInputDist(ctx, features, companion_.comm()).Wait();
  }
  bool ids_travel() const override { return !alone(); }

  internal::OwnCompanion companion_;
};

template <typename Collection>
class PipelinedShards final : public AnsweredShards<Collection> {
 public:
  using AnsweredShards<Collection>::AnsweredShards;

  void Prefetch(Context& ctx, const InputAhead& input) override {
    this->tables().Prefetch(ctx, *input.dist);
  }
  void ForgetPrefetched() override { this->tables().ForgetPrefetched(); }
  void AllowForwardsAhead(int forwards) override { this->tables().AllowForwardsAhead(forwards); }
  std::function<void()> KeepCounters() override {
    return [&tables = this->tables(), iter = this->tables().iter()] { tables.set_iter(iter); };
  }
};

// Throws for the reason `why` rows of a batch cannot be looked up before the step of the batch
// before it.
void RefuseForwardsAhead(int forwards, const char* why) {
  if (forwards == 0) return;
  throw Error(Format(
      "a semi_sync pipeline looks a batch up before the step of the batch before it, but {}: "
      "expected the pipeline none, base, sparse_dist or prefetch",
      why));
}

constexpr const char* kRawIds =
    "rows of raw ids (managed collision) are found inside the step, in the order of the steps";
constexpr const char* kPruned =
    "rows of pruned tables (ITEP) are found inside the step, in the order of the steps";
constexpr const char* kProcessed =
    "a feature processor's weights are parameters, those that the last step left";

// A sharded collection whose raw ids travel ahead and become rows in the step.
template <typename Collection>
class PipelinedRawIds final : public AnsweredShards<Collection> {
 public:
  using AnsweredShards<Collection>::AnsweredShards;

  void Prefetch(Context&, const InputAhead&) override {}
  void ForgetPrefetched() override {}
  void AllowForwardsAhead(int forwards) override { RefuseForwardsAhead(forwards, kRawIds); }
  std::function<void()> KeepCounters() override {
    return [] {};
  }
};

// A collection whose whole forward is part of the step.
class WholeInStep final : public PipelinedEmbeddings {
 public:
  // why: the reason that its forward cannot begin ahead.
  WholeInStep(bool alone, const char* why) : alone_(alone), why_(why) {}

  bool alone() const override { return alone_; }
  bool AnswerNext(const KeyedJaggedTensor&, Answer, TakesPrecomputed) override { return false; }
  void ForgetAnswer() override {}
  std::shared_ptr<LookupAhead> Lookup(Context&, const InputAhead&) override {
    throw Error(Format("no lookup ahead: {}", why_));
  }
  void Prefetch(Context&, const InputAhead&) override {}
  void ForgetPrefetched() override {}
  void AllowForwardsAhead(int forwards) override { RefuseForwardsAhead(forwards, why_); }
  std::function<void()> KeepCounters() override {
    return [] {};
  }

 private:
  std::optional<tessera::InputDist> Distribute(Context&, const KeyedJaggedTensor&) override {
    return std::nullopt;
  }

  bool alone_;
  const char* why_;
};

std::unique_ptr<PipelinedEmbeddings> InStep(const char* why) {
  return std::make_unique<WholeInStep>(true, why);
}
std::unique_ptr<PipelinedEmbeddings> InStep(const ShardedTables& tables, const char* why) {
  return std::make_unique<WholeInStep>(tables.comm().size() == 1, why);
}

void RecordDistinct(const DedupedIds& ids, const Context& ctx) {
  RecordStream(ids.kjt, ctx);
  for (const Tensor& places : ids.places) places.RecordStream(ctx);
}

void RecordIds(const InputDist& dist, const Context& ctx) {
  for (const std::vector<Tensor>& of_rank : dist.sent().positions)
    for (const Tensor& positions : of_rank) positions.RecordStream(ctx);
  for (const DistFeature& feature : dist.sent().features) feature.ids.RecordStream(ctx);
  RecordStream(dist.received().kjt, ctx);
  if (const auto distinct = dist.deduped()) RecordDistinct(*distinct, ctx);
  const auto node = dist.node_ids();
  if (!node) return;
  RecordIds(node->inside, ctx);
  RecordDistinct(node->distinct, ctx);
}

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
  if (dist) RecordIds(*dist, ctx);
}

InputAhead PipelinedEmbeddings::InputDist(Context& ctx, const KeyedJaggedTensor& features) {
  TESSERA_CHECK(!features.weights_or_none().requires_grad(),
                "a pipeline's batch has weights that need a gradient: without a pipeline they get "
                "one");
  return {features, Distribute(ctx, features)};
}

void PipelinedEmbeddings::BeginPipeline(const std::string& name) {
  TESSERA_CHECK(pipeline_.empty() || !ids_travel(),
                "{} over tables that a live {} works ahead for: expected Pipelined(collection) for "
                "each of two pipelines, or the first to end before the second begins",
                name, pipeline_);
  pipeline_ = name;
}

std::unique_ptr<PipelinedEmbeddings> Pipelined(EmbeddingBagCollection& collection) {
  return std::make_unique<PipelinedTables<EmbeddingBagCollection>>(collection);
}
std::unique_ptr<PipelinedEmbeddings> Pipelined(EmbeddingCollection& collection) {
  return std::make_unique<PipelinedTables<EmbeddingCollection>>(collection);
}
std::unique_ptr<PipelinedEmbeddings> Pipelined(ManagedCollisionEmbeddingBagCollection&) {
  return InStep(kRawIds);
}
std::unique_ptr<PipelinedEmbeddings> Pipelined(ManagedCollisionEmbeddingCollection&) {
  return InStep(kRawIds);
}
std::unique_ptr<PipelinedEmbeddings> Pipelined(ITEPEmbeddingBagCollection&) {
  return InStep(kPruned);
}
std::unique_ptr<PipelinedEmbeddings> Pipelined(ITEPEmbeddingCollection&) { return InStep(kPruned); }
std::unique_ptr<PipelinedEmbeddings> Pipelined(FeatureProcessedEmbeddingBagCollection&) {
  return InStep(kProcessed);
}

std::unique_ptr<PipelinedEmbeddings> Pipelined(ShardedEmbeddingBagCollection& collection) {
  return std::make_unique<PipelinedShards<ShardedEmbeddingBagCollection>>(collection);
}
std::unique_ptr<PipelinedEmbeddings> Pipelined(ShardedEmbeddingCollection& collection) {
  return std::make_unique<PipelinedShards<ShardedEmbeddingCollection>>(collection);
}
std::unique_ptr<PipelinedEmbeddings> Pipelined(
    ShardedManagedCollisionEmbeddingBagCollection& collection) {
  return std::make_unique<PipelinedRawIds<ShardedManagedCollisionEmbeddingBagCollection>>(
      collection);
}
std::unique_ptr<PipelinedEmbeddings> Pipelined(
    ShardedManagedCollisionEmbeddingCollection& collection) {
  return std::make_unique<PipelinedRawIds<ShardedManagedCollisionEmbeddingCollection>>(collection);
}
std::unique_ptr<PipelinedEmbeddings> Pipelined(ShardedITEPEmbeddingBagCollection& collection) {
  return InStep(collection.collection().tables(), kPruned);
}
std::unique_ptr<PipelinedEmbeddings> Pipelined(ShardedITEPEmbeddingCollection& collection) {
  return InStep(collection.collection().tables(), kPruned);
}
std::unique_ptr<PipelinedEmbeddings> Pipelined(
    ShardedFeatureProcessedEmbeddingBagCollection& collection) {
  return InStep(collection.embedding_bag_collection().tables(), kProcessed);
}

}  // namespace tessera
