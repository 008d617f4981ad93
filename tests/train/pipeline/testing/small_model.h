#ifndef TESSERA_TESTS_TRAIN_PIPELINE_TESTING_SMALL_MODEL_H_
#define TESSERA_TESTS_TRAIN_PIPELINE_TESTING_SMALL_MODEL_H_
// A model for pipelines: three tables and a linear layer; alone or on ranks. What every step came
// to, and all that steps changed, can be compared bit by bit.
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "optim/dense_optimizer.h"
#include "runtime/ops/linear.h"
#include "runtime/ops/loss.h"
#include "sharding/distributed_model_parallel.h"
#include "tests/train/pipeline/testing/small_embeddings.h"

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

// Batch `number` of a rank, in host memory; bags of 0 to 3 ids that batches share.
inline SmallBatch DrawSmallBatch(int number, int rank, const SmallKind& kind = {}) {
  Context host({.threads = 1});
  std::mt19937 random(static_cast<unsigned>(1000 * rank + number));
  const int64_t examples = 3 + rank;
  const unsigned rows[] = {kind.raw() || kind.itep() ? unsigned{kSmallIds} : 40, 30, 30, 5};
  std::vector<int64_t> ids, lengths;
  for (int f = 0; f < 4; ++f)
    for (int64_t b = 0; b < examples; ++b) {
      lengths.push_back(random() % 4);
      for (int64_t i = 0; i < lengths.back(); ++i) {
        ids.push_back(random() % rows[f]);
        if (f == 0 && kind.raw()) ids.back() = (ids.back() - 7) * 1'000'000'007;
      }
    }
  std::vector<float> labels;
  for (int64_t b = 0; b < examples; ++b) labels.push_back(static_cast<float>(random() % 2));
  return {KeyedJaggedTensor::FromLengthsSync({"f0", "f1", "f2", "f3"}, Tensor::From(host, ids),
                                             Tensor::From(host, lengths)),
          Tensor::From(host, labels), number};
}

class PipelinedModel {
 public:
  explicit PipelinedModel(Context& ctx, Communicator* comm = nullptr, const SmallKind& kind = {})
      : embeddings_(MakeSmallEmbeddings(ctx, comm, kind)) {
    weight_ = Variable(Tensor::Empty(ctx, {1, SmallWidth(kind)}), true);
    bias_ = Variable(Tensor::Zeros(ctx, {1}), true);
    FillUniform(ctx, weight_.value(), -0.5f, 0.5f);
    dense_ = {{"weight", weight_}, {"bias", bias_}};
    embeddings_->AppendParameters(dense_);
    optimizer_.emplace(ctx, dense_, DenseOptimizerConfig("adam"));
    if (comm != nullptr) parallel_.emplace(ctx, *comm, dense_);
  }

  std::unique_ptr<PipelinedEmbeddings> Embeddings() { return embeddings_->Pipelined(); }
  Variable Pool(Context& ctx, const KeyedJaggedTensor& features) {
    return embeddings_->Pool(ctx, features);
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
      const Variable pooled = pool ? pool(ctx) : Pool(ctx, batch.features);
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
    if (shards() != nullptr)
      shards()->SetLearningRate(lr);
    else
      embeddings_->tables()->SetLearningRate(lr);
  }
  int64_t iter() const {
    return shards() != nullptr ? shards()->iter() : embeddings_->tables()->iter();
  }

  // Everything that steps change on this rank.
  std::vector<float> State(Context& ctx) {
    std::vector<float> state = {static_cast<float>(iter())};
    const auto add = [&](const Tensor& tensor) {
      const Tensor host = tensor.To(ctx, Device::Cpu());
      const auto* bytes = static_cast<const unsigned char*>(host.raw_data());
      state.insert(state.end(), bytes, bytes + host.numel() * SizeOf(host.dtype()));
    };
    const auto add_table = [&](TableBatchedEmbedding& tables, int index) {
      tables.caches().Flush(ctx);
      add(tables.weight(index));
      for (const OptimizerState& s : tables.optimizer_states(index)) add(s.tensor);
    };
    if (shards() != nullptr)
      for (const HeldShard& held : shards()->shards()) add_table(*held.tables, held.index);
    else
      for (int t = 0; t < 3; ++t) add_table(*embeddings_->tables(), t);
    for (const NamedTensor& known : embeddings_->IdState(ctx)) add(known.tensor);
    for (const NamedParameter& p : dense_) add(p.variable.value());
    return state;
  }

 private:
  ShardedTables* shards() const { return embeddings_->shards(); }

  std::unique_ptr<SmallEmbeddings> embeddings_;
  Variable weight_, bias_;
  std::vector<NamedParameter> dense_;
  std::optional<DenseOptimizer> optimizer_;
  std::optional<DistributedModelParallel> parallel_;
};

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TRAIN_PIPELINE_TESTING_SMALL_MODEL_H_
