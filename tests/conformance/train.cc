// Kind `train`: forward and fused update, several steps.
#include "tests/conformance/embedding_case.h"
#include "tests/conformance/kinds.h"

namespace tessera::conformance {
namespace {

std::vector<AnyRule> RulesOf(const Case& c) {
  std::vector<AnyRule> rules;
  if (c.attrs.contains("optimizers")) {
    for (const Json& o : c.attrs["optimizers"]) rules.push_back(ParseRule(o));
  } else {
    rules.assign(c.attrs.at("tables").size(), ParseRule(c.attrs.at("optimizer")));
  }
  return rules;
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
  for (const char* later : {"lr_schedule", "update", "max_counter"})
    if (c.attrs.contains(later)) throw Unsupported(later);
  Answer answer;
  TableBatchedEmbeddingOptions options;
  options.weighted = c.attrs.value("weighted", false);
  if (c.attrs.contains("gradient_clipping"))
    options.max_gradient = c.attrs["gradient_clipping"].at("max_gradient").get<float>();
  TableBatchedEmbedding tables = MakeTables(ctx, c, RulesOf(c), options);
  ReadStates(ctx, c, tables);
  tables.set_iter(c.attrs.value("iter", int64_t{0}));

  for (int s = 0; s < c.attrs.at("steps").get<int>(); ++s) {
    const std::string step = "step" + std::to_string(s);
    if (c.attrs.contains("lr_per_step"))
      tables.SetLearningRate(c.attrs["lr_per_step"][static_cast<size_t>(s)].get<float>());
    const KeyedJaggedTensor kjt = ReadKjt(c, step, /*weights_grad=*/options.weighted);
    Tape tape(ctx);
    const std::vector<Variable> outputs = Forward(ctx, c, tables, kjt, step + ".", answer.tensors);
    Backward(ctx, c, tape, tables, outputs, step + ".");
    if (options.weighted) answer.tensors[step + ".grad.weights"] = kjt.weights().grad();
    StoreRowGradients(tables, step + ".", answer.tensors);
  }
  for (int t = 0; t < tables.num_tables(); ++t) {
    answer.tensors["table." + std::to_string(t)] = tables.weight(t);
    for (const OptimizerState& state : tables.optimizer_states(t))
      answer.tensors["state." + state.name + "." + std::to_string(t)] = state.tensor;
  }
  return answer;
}

}  // namespace tessera::conformance
