// Kind `train`: forward and update, several steps: fused, or, with `update` "dense", for tables
// that are ordinary variables.
#include <map>

#include "optim/dense_optimizer.h"
#include "optim/warmup_schedule.h"
#include "tests/conformance/embedding_case.h"
#include "tests/conformance/kinds.h"
#include "tests/conformance/warmup_stages.h"

namespace tessera::conformance {
namespace {

bool IsDense(const Case& c) { return c.attrs.value("update", "") == "dense"; }

const Json& OptimizerOf(const Case& c, size_t table) {
  return c.attrs.contains("optimizers") ? c.attrs["optimizers"].at(table) : c.attrs.at("optimizer");
}

std::vector<AnyRule> RulesOf(const Case& c) {
  std::vector<AnyRule> rules;
  for (size_t t = 0; t < c.attrs.at("tables").size(); ++t)
    rules.push_back(IsDense(c) ? AnyRule(Dense{}) : ParseRule(OptimizerOf(c, t)));
  return rules;
}

// The dense optimizer of each table, which updates all rows in every step, and the case's names of
// its states.
class DenseUpdates {
 public:
  DenseUpdates(Context& ctx, const Case& c, const TableBatchedEmbedding& tables) {
    for (int t = 0; IsDense(c) && t < tables.num_tables(); ++t) {
      const std::vector<NamedParameter> parameter = {
          {std::to_string(t), tables.weight_variable(t)}};
      optimizers_.emplace_back(ctx, parameter, ConfigOf(OptimizerOf(c, static_cast<size_t>(t))));
    }
  }
  void SetLearningRate(double lr) {
    for (DenseOptimizer& optimizer : optimizers_) optimizer.SetLearningRate(lr);
  }
  void Step(Context& ctx) {
    for (DenseOptimizer& optimizer : optimizers_) {
      optimizer.Step(ctx);
      optimizer.ZeroGrad();
    }
  }
  // The states of row-wise Adagrad are [E] in cases, and [E, 1] here, as in TorchRec.
  void StoreStates(const Case& c, Tensors& answer) const {
    static const std::map<std::string, std::string> names = {{"exp_avg", "momentum1"},
                                                             {"exp_avg_sq", "momentum2"},
                                                             {"sum", "momentum1"},
                                                             {"momentum_buffer", "momentum1"}};
    for (size_t t = 0; t < optimizers_.size(); ++t) {
      const bool rowwise = OptimizerOf(c, t).at("name") == "rowwise_adagrad";
      for (const auto& [parameter, states] : optimizers_[t].StateDict())
        for (const auto& [state, tensor] : states)
          if (const auto name = names.find(state); name != names.end())
            answer["state." + name->second + "." + parameter] =
                rowwise ? tensor.Reshape({tensor.numel()}) : tensor;
    }
  }

 private:
  static DenseOptimizerConfig ConfigOf(const Json& o) {
    const std::string name = o.at("name").get<std::string>();
    // The case's Adam decays beside the gradient: torch's AdamW.
    DenseOptimizerConfig config(name == "adam" ? "adamw" : name);
    for (const std::string& option : config.Options())
      if (o.contains(option)) config.Set(option, o[option].get<double>());
    return config;
  }

  std::vector<DenseOptimizer> optimizers_;
};

// The learning rate of each step: given, or by a schedule, whose rates are part of the answer.
std::vector<double> LearningRates(Context& ctx, const Case& c, int64_t steps, Tensors& answer) {
  if (!c.attrs.contains("lr_schedule")) return c.attrs.value("lr_per_step", std::vector<double>());
  const Json& given = c.attrs["lr_schedule"];
  WarmupSchedule schedule(ReadWarmupStages(given.at("stages")));
  std::vector<double> rates;
  for (int64_t s = 0; s < steps; ++s) {
    rates.push_back(schedule.LearningRate(given.at("base_lr").get<double>()));
    schedule.Step();
  }
  answer["lr"] = Tensor::From(ctx, rates);
  return rates;
}

void ReadStates(Context& ctx, const Case& c, TableBatchedEmbedding& tables) {
  for (int t = 0; t < tables.num_tables(); ++t)
    for (const OptimizerState& state : tables.optimizer_states(t))
      if (const Tensor given = c.optional("state." + state.name + "." + std::to_string(t)))
        state.tensor.CopyFrom(ctx, given);
}

void StoreRowGradients(const TableBatchedEmbedding& tables, const std::string& prefix,
                       Tensors& answer) {
  for (int t = 0; t < tables.num_tables(); ++t) {
    if (!std::holds_alternative<None>(tables.rule(t))) continue;
    answer[prefix + "rows." + std::to_string(t)] = tables.row_gradients(t).rows;
    answer[prefix + "row_grads." + std::to_string(t)] = tables.row_gradients(t).grads;
  }
}

}  // namespace

Answer RunTrain(Context& ctx, const Case& c) {
  Answer answer;
  TableBatchedEmbeddingOptions options;
  options.weighted = c.attrs.value("weighted", false);
  if (c.attrs.contains("gradient_clipping"))
    options.max_gradient = c.attrs["gradient_clipping"].at("max_gradient").get<float>();
  TableBatchedEmbedding tables = MakeTables(ctx, c, RulesOf(c), options);
  ReadStates(ctx, c, tables);
  tables.set_iter(c.attrs.value("iter", int64_t{0}));
  tables.set_max_counter(c.attrs.value("max_counter", 1.0f));

  DenseUpdates dense(ctx, c, tables);
  const auto steps = c.attrs.at("steps").get<int64_t>();
  const std::vector<double> rates = LearningRates(ctx, c, steps, answer.tensors);
  for (int64_t s = 0; s < steps; ++s) {
    const std::string step = "step" + std::to_string(s);
    if (!rates.empty()) {
      tables.SetLearningRate(static_cast<float>(rates[static_cast<size_t>(s)]));
      dense.SetLearningRate(rates[static_cast<size_t>(s)]);
    }
    const KeyedJaggedTensor kjt = ReadKjt(c, step, /*weights_grad=*/options.weighted);
    Tape tape(ctx);
    const std::vector<Variable> outputs = Forward(ctx, c, tables, kjt, step + ".", answer.tensors);
    Backward(ctx, c, tape, tables, outputs, step + ".");
    if (options.weighted) answer.tensors[step + ".grad.weights"] = kjt.weights().grad();
    StoreRowGradients(tables, step + ".", answer.tensors);
    dense.Step(ctx);
  }
  for (int t = 0; t < tables.num_tables(); ++t) {
    answer.tensors["table." + std::to_string(t)] = tables.weight(t);
    for (const OptimizerState& state : tables.optimizer_states(t))
      answer.tensors["state." + state.name + "." + std::to_string(t)] = state.tensor;
  }
  dense.StoreStates(c, answer.tensors);
  return answer;
}

}  // namespace tessera::conformance
