// Kind `model`: training trajectories of whole models.
#include <functional>

#include "optim/dense_optimizer.h"
#include "runtime/ops/loss.h"
#include "runtime/ops/matmul.h"
#include "tests/conformance/dense_modules.h"
#include "tests/conformance/embedding_case.h"
#include "tests/conformance/kinds.h"

namespace tessera::conformance {
namespace {

// attrs.sparse_optimizer: a rule, and the value its first state starts with.
struct SparseOptimizer {
  AnyRule rule;
  double initial_state = 0;
};

SparseOptimizer ReadSparseOptimizer(const Case& c) {
  const Json& given = c.attrs.at("sparse_optimizer");
  Json rule = given.at("hyper");
  rule["name"] = given.at("optimizer");
  if (rule.contains("betas")) {
    rule["beta1"] = rule["betas"][0];
    rule["beta2"] = rule["betas"][1];
  }
  return {ParseRule(rule), rule.value("initial_accumulator_value", 0.0)};
}

void FillFirstStates(Context& ctx, TableBatchedEmbedding& tables, double value) {
  for (int t = 0; t < tables.num_tables(); ++t)
    for (const OptimizerState& state : tables.optimizer_states(t))
      if (state.name == "momentum1") state.tensor.Fill(ctx, value);
}

// Batch `step` of the case.
KeyedJaggedTensor ReadBatch(Context& ctx, const Case& c, int64_t step) {
  const Tensor offsets_here = c.input("values_offsets").ToHost(), lengths = c.input("lengths");
  const int64_t* offsets = offsets_here.data<int64_t>();
  KeyedJaggedTensorArgs args;
  args.keys = c.attrs.at("keys").get<std::vector<std::string>>();
  args.values = c.input("values").Rows(offsets[step], offsets[step + 1]);
  args.lengths = lengths.Rows(step, step + 1).Reshape({lengths.dim(1)});
  args.stride = c.attrs.at("B").get<int64_t>();
  return KeyedJaggedTensor(std::move(args)).To(ctx, ctx.device());
}

Tensor StepOf(Context& ctx, const Tensor& all, int64_t step) {
  const Tensor one = all.Rows(step, step + 1).To(ctx, ctx.device());
  return all.rank() == 3 ? one.Reshape({all.dim(1), all.dim(2)}) : one.Reshape({all.dim(1)});
}

// The results of a step.
struct Step {
  Variable outputs, loss;
};
using RunStep = std::function<Step(int64_t step)>;

Variable LossOf(Context& ctx, const std::string& name, const Variable& outputs,
                const Tensor& labels) {
  if (name == "bce_with_logits") return BceWithLogits(ctx, outputs, labels);
  if (name == "bce") return Bce(ctx, outputs, labels);
  if (name == "mse") return Mse(ctx, outputs, labels);
  throw Unsupported("loss " + name);
}

// The trajectory of a model: losses, the first outputs, and the last state.
Answer Train(Context& ctx, const Case& c, EmbeddingModel& model, const RunStep& run) {
  model.LoadStateDict(ctx, WithPrefix(c.in, "param."));
  FillFirstStates(ctx, model.embedding_bag_collection().tables(),
                  ReadSparseOptimizer(c).initial_state);
  const Json& dense = c.attrs.at("dense_optimizer");
  DenseOptimizer optimizer(
      ctx, model.Parameters(),
      ReadDenseOptimizer(dense.at("optimizer").get<std::string>(), dense.at("hyper")));
  Answer answer;
  std::vector<double> losses;
  for (int64_t step = 0; step < c.attrs.at("steps").get<int64_t>(); ++step) {
    optimizer.ZeroGrad();
    Tape tape(ctx);
    const auto [outputs, loss] = run(step);
    if (step == 0) answer.tensors["first_logits"] = outputs.value();
    losses.push_back(loss.value().ToVector<float>()[0]);
    tape.Backward(loss);
    optimizer.Step(ctx);
  }
  answer.tensors["losses"] = Tensor::From(ctx, losses);
  for (const NamedTensor& t : model.StateDict()) answer.tensors["param." + t.name] = t.tensor;
  return answer;
}

Answer RunTwoTower(Context& ctx, const Case& c, const std::string& loss) {
  TwoTowerConfig config = ReadTwoTower(c);
  config.query_table.optimizer = config.candidate_table.optimizer = ReadSparseOptimizer(c).rule;
  TwoTower model(ctx, std::move(config));
  return Train(ctx, c, model, [&](int64_t step) -> Step {
    const KeyedJaggedTensor batch = ReadBatch(ctx, c, step);
    if (loss == "in_batch_softmax") {
      const auto [q, candidate] = model.Forward(ctx, batch);
      return {MatMul(ctx, q, candidate, /*transpose_b=*/true), InBatchSoftmax(ctx, q, candidate)};
    }
    const Variable logits = model.Logits(ctx, batch);
    return {logits, LossOf(ctx, loss, logits, StepOf(ctx, c.input("labels"), step))};
  });
}

}  // namespace

Answer RunModel(Context& ctx, const Case& c) {
  const std::string loss = c.attrs.at("loss").get<std::string>();
  if (c.attrs.at("model") == "two_tower") return RunTwoTower(ctx, c, loss);
  RankingModelConfig config = ReadRankingModel(c);
  for (EmbeddingBagConfig& table : config.tables) table.optimizer = ReadSparseOptimizer(c).rule;
  RankingModel model(ctx, std::move(config));
  return Train(ctx, c, model, [&](int64_t step) -> Step {
    const Variable outputs =
        TorchRecOutputs(ctx, model, StepOf(ctx, c.input("dense"), step), ReadBatch(ctx, c, step));
    return {outputs, LossOf(ctx, loss, outputs, StepOf(ctx, c.input("labels"), step))};
  });
}

}  // namespace tessera::conformance
