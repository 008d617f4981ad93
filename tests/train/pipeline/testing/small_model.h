#ifndef TESSERA_TESTS_TRAIN_PIPELINE_TESTING_SMALL_MODEL_H_
#define TESSERA_TESTS_TRAIN_PIPELINE_TESTING_SMALL_MODEL_H_
// A model for pipelines: three tables, pooled, and a linear layer; alone or on ranks. What every step
// came to, and all that steps changed, can be compared bit by bit.
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "optim/dense_optimizer.h"
#include "runtime/ops/linear.h"
#include "runtime/ops/loss.h"
#include "runtime/ops/shaping.h"
#include "sharding/distributed_model_parallel.h"
#include "sharding/plan_makers.h"
#include "train/pipeline/pipelined_embeddings.h"

namespace tessera::testing {

struct SmallBatch {
  KeyedJaggedTensor features;  // f0, f1, f2, f3
  Tensor labels;               // [B]
  int number = 0;

  SmallBatch To(Context& ctx) const {
    return {features.To(ctx, ctx.device()), labels.To(ctx, ctx.device()), number};
  }
  void RecordStream(const Context& ctx) const {
    tessera::RecordStream(features, ctx);
    labels.RecordStream(ctx);
  }
};

inline std::vector<EmbeddingBagConfig> SmallTables(bool cached) {
  std::vector<EmbeddingBagConfig> tables(3);
  const int64_t rows[] = {40, 30, 5};
  const std::vector<std::string> features[] = {{"f0"}, {"f1", "f2"}, {"f3"}};
  for (size_t t = 0; t < 3; ++t) {
    tables[t].name = "t" + std::to_string(t);
    tables[t].num_embeddings = rows[t];
    tables[t].embedding_dim = 4;
    tables[t].feature_names = features[t];
    if (cached) tables[t].location = EmbeddingLocation::kManagedCaching;
    tables[t].cache = {.ways = 2, .load_factor = 0.3};
  }
  tables[0].optimizer = Adam{.lr = 0.05f};
  tables[1].optimizer = RowwiseAdagrad{.lr = 0.1f};
  tables[2].optimizer = Sgd{.lr = 0.1f};
  tables[2].pooling = PoolingType::kMean;
  return tables;
}

// Batch `number` of a rank, in host memory; bags of 0 to 3 ids, of rows that batches share.
inline SmallBatch DrawSmallBatch(int number, int rank) {
  Context host({.threads = 1});
  std::mt19937 random(static_cast<unsigned>(1000 * rank + number));
  const int64_t examples = 3 + rank;
  const unsigned rows[] = {40, 30, 30, 5};
  std::vector<int64_t> ids, lengths;
  for (const unsigned r : rows)
    for (int64_t b = 0; b < examples; ++b) {
      lengths.push_back(random() % 4);
      for (int64_t i = 0; i < lengths.back(); ++i) ids.push_back(random() % r);
    }
  std::vector<float> labels;
  for (int64_t b = 0; b < examples; ++b) labels.push_back(static_cast<float>(random() % 2));
  return {KeyedJaggedTensor::FromLengthsSync({"f0", "f1", "f2", "f3"}, Tensor::From(host, ids),
                                             Tensor::From(host, lengths)),
          Tensor::From(host, labels), number};
}

// A row of each table to every rank; with `cached`, whole tables that have caches.
inline ShardingPlan SmallPlan(int ranks, bool cached) {
  std::vector<TableShape> shapes;
  for (const EmbeddingBagConfig& t : SmallTables(false))
    shapes.push_back({t.name, t.num_embeddings, t.embedding_dim});
  const auto on = [&](TableSharder sharder) {
    return cached ? WithKernel(std::move(sharder), ComputeKernel::kFusedUvmCaching) : sharder;
  };
  return MakeShardingPlan({ranks, ranks}, shapes,
                          {{"t0", on(RowWise())},
                           {"t1", on(TableWise(ranks - 1))},
                           {"t2", cached ? on(TableWise(0)) : DataParallel()}});
}

class PipelinedModel {
 public:
  explicit PipelinedModel(Context& ctx, Communicator* comm = nullptr, bool cached = false)
      : comm_(comm) {
    if (comm == nullptr)
      tables_ = std::make_unique<EmbeddingBagCollection>(ctx, SmallTables(cached));
    else
      shards_ = std::make_unique<ShardedEmbeddingBagCollection>(ctx, *comm, SmallTables(false),
                                                                SmallPlan(comm->size(), cached));
    weight_ = Variable(Tensor::Empty(ctx, {1, 16}), true);
    bias_ = Variable(Tensor::Zeros(ctx, {1}), true);
    FillUniform(ctx, weight_.value(), -0.5f, 0.5f);
    const std::vector<NamedParameter> dense = {{"weight", weight_}, {"bias", bias_}};
    optimizer_.emplace(ctx, dense, DenseOptimizerConfig("adam"));
    if (comm != nullptr) parallel_.emplace(ctx, *comm, dense);
  }

  std::unique_ptr<PipelinedEmbeddings> Embeddings() {
    return shards_ ? Pipelined(*shards_) : Pipelined(*tables_);
  }
  KeyedTensor Pool(Context& ctx, const KeyedJaggedTensor& features) {
    return shards_ ? shards_->Forward(ctx, features) : tables_->Forward(ctx, features);
  }
  Variable Logits(Context& ctx, const Variable& pooled) {
    return Reshape(ctx, Linear(ctx, pooled, weight_, bias_), {-1});
  }

  // Forward, backward, optimizers; then other learning rates. pool: what stands for Pool.
  float Step(Context& ctx, const SmallBatch& batch,
             const std::function<Variable(Context&)>& pool = nullptr) {
    float loss = 0;
    {
      Tape tape(ctx);
      const Variable pooled = pool ? pool(ctx) : Pool(ctx, batch.features).values();
      const Variable mean = BceWithLogits(ctx, Logits(ctx, pooled), batch.labels);
      loss = ReadScalarSync(ctx, mean.value().data<float>());
      if (parallel_) parallel_->Overlap(ctx, tape);
      tape.Backward(mean);
    }
    if (parallel_) parallel_->AverageGradients(ctx);
    optimizer_->Step(ctx);
    optimizer_->ZeroGrad();
    return loss;
  }
  void SetLearningRate(float lr) {
    if (shards_)
      shards_->tables().SetLearningRate(lr);
    else
      tables_->tables().SetLearningRate(lr);
  }
  int64_t iter() const { return shards_ ? shards_->tables().iter() : tables_->tables().iter(); }

  // Everything that steps change on this rank.
  std::vector<float> State(Context& ctx) {
    std::vector<float> state = {static_cast<float>(iter())};
    const auto add = [&](const Tensor& tensor) {
      const auto values = tensor.To(ctx, DType::kF32).To(ctx, Device::Cpu()).ToVector<float>();
      state.insert(state.end(), values.begin(), values.end());
    };
    const auto add_table = [&](TableBatchedEmbedding& tables, int index) {
      tables.Flush(ctx);
      add(tables.weight(index));
      for (const OptimizerState& s : tables.optimizer_states(index)) add(s.tensor);
    };
    if (shards_)
      for (const HeldShard& held : shards_->tables().shards()) add_table(*held.tables, held.index);
    else
      for (int t = 0; t < 3; ++t) add_table(tables_->tables(), t);
    add(weight_.value());
    add(bias_.value());
    return state;
  }

 private:
  Communicator* comm_;
  std::unique_ptr<EmbeddingBagCollection> tables_;
  std::unique_ptr<ShardedEmbeddingBagCollection> shards_;
  Variable weight_, bias_;
  std::optional<DenseOptimizer> optimizer_;
  std::optional<DistributedModelParallel> parallel_;
};

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TRAIN_PIPELINE_TESTING_SMALL_MODEL_H_
