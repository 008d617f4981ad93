// Kind `dense`: modules and losses, forward and backward.
#include <functional>

#include "models/layers/factorization_machine.h"
#include "models/layers/interaction.h"
#include "models/layers/over_arch.h"
#include "runtime/ops/activation.h"
#include "runtime/ops/linear.h"
#include "runtime/ops/loss.h"
#include "runtime/ops/norm.h"
#include "runtime/ops/shaping.h"
#include "runtime/ops/similarity.h"
#include "tests/conformance/kinds.h"

namespace tessera::conformance {
namespace {

// The variables of a case: made on first use, and answered for with their gradients.
class Bench {
 public:
  Bench(Context& ctx, const Case& c) : ctx(ctx), attrs(c.attrs), case_(c) {}

  // in.<name>, differentiated.
  Variable Input(const std::string& name) {
    Variable v(case_.input(name).Clone(ctx), /*requires_grad=*/true);
    variables_.push_back({name, v});
    return v;
  }
  Variable Param(const std::string& name) { return Input("param." + name); }
  // in.<name> on the context's device, undefined if there is none.
  Tensor Given(const std::string& name) const {
    const Tensor given = case_.optional(name);
    return given ? given.To(ctx, ctx.device()) : given;
  }
  // Gives the module's parameters the values of the case, by their names.
  void Bind(const Module& module) {
    for (const NamedParameter& p : module.Parameters()) {
      p.variable.value().CopyFrom(ctx, case_.input("param." + p.name));
      variables_.push_back({"param." + p.name, p.variable});
    }
  }
  template <typename M>
  Variable Apply(const M& module, const Variable& x) {
    Bind(module);
    return module.Forward(ctx, x);
  }

  std::vector<int64_t> Sizes(const char* key) const {
    return attrs.at(key).get<std::vector<int64_t>>();
  }

  Answer Backward(Tape& tape, const Variable& y) {
    if (y.requires_grad()) tape.Backward(y, Given("grad_out").Reshape(y.shape()));
    Answer answer;
    answer.tensors["y"] = y.value().Contiguous(ctx);
    for (const NamedParameter& p : variables_) {
      const Tensor& grad = p.variable.grad();
      answer.tensors["grad." + p.name] =
          grad ? grad.Contiguous(ctx) : Tensor::Zeros(ctx, p.variable.shape());
    }
    return answer;
  }

  Context& ctx;
  const Json& attrs;

 private:
  const Case& case_;
  std::vector<NamedParameter> variables_;
};

Variable RunActivation(Bench& b) {
  const Variable x = b.Input("x");
  switch (ParseActivation(b.attrs.at("activation").get<std::string>())) {
    case Activation::kRelu:
      return Relu(b.ctx, x);
    case Activation::kSigmoid:
      return Sigmoid(b.ctx, x);
    case Activation::kTanh:
      return Tanh(b.ctx, x);
    case Activation::kSwish:
      return Swish(b.ctx, x);
    case Activation::kSwishLayerNorm:
      break;
  }
  throw Unsupported("activation of this name without parameters");
}

Variable RunMlp(Bench& b) {
  MlpOptions options;
  options.bias = b.attrs.at("bias").get<bool>();
  options.activation = ParseActivation(b.attrs.at("activation").get<std::string>());
  options.activation_on_last = b.attrs.at("activation_on_last").get<bool>();
  return b.Apply(Mlp(b.ctx, b.attrs.at("in").get<int64_t>(), b.Sizes("layers"), options),
                 b.Input("x"));
}

// dense [B, D] and sparse [B, F, D], whose blocks are laid side by side.
std::pair<Variable, Variable> InteractionInputs(Bench& b) {
  const Variable dense = b.Input("dense"), sparse = b.Input("sparse");
  return {dense, Reshape(b.ctx, sparse, {sparse.dim(0), sparse.dim(1) * sparse.dim(2)})};
}

Variable RunInteraction(Bench& b) {
  const auto [dense, sparse] = InteractionInputs(b);
  return DotInteraction(b.ctx, dense, sparse);
}

Variable RunProjection(Bench& b) {
  const ProjectionInteraction module(b.ctx, b.attrs.at("F").get<int64_t>(),
                                     b.attrs.at("D").get<int64_t>(), b.Sizes("branch1"),
                                     b.Sizes("branch2"));
  b.Bind(module);
  const auto [dense, sparse] = InteractionInputs(b);
  return module.Forward(b.ctx, dense, sparse);
}

Variable RunInBatchSoftmax(Bench& b) {
  InBatchSoftmaxOptions options;
  options.temperature = b.attrs.at("temperature").get<float>();
  options.normalize = b.attrs.at("normalize").get<bool>();
  options.eps = b.attrs.value("eps", options.eps);
  return InBatchSoftmax(b.ctx, b.Input("q"), b.Input("c"), options);
}

int64_t Size(const Bench& b, const char* key) { return b.attrs.at(key).get<int64_t>(); }

Variable RunMixture(Bench& b) {
  const MixtureOptions options = {
      .num_experts = Size(b, "num_experts"),
      .low_rank = Size(b, "low_rank"),
      .activation = ParseActivation(b.attrs.at("activation").get<std::string>())};
  return b.Apply(LowRankMixtureCrossNet(b.ctx, Size(b, "in"), Size(b, "layers"), options),
                 b.Input("x"));
}

Variable RunDcn(Bench& b) {
  const DcnInteraction module(b.ctx, Size(b, "F"), Size(b, "D"), Size(b, "layers"),
                              Size(b, "low_rank"));
  b.Bind(module.crossnet());
  const auto [dense, sparse] = InteractionInputs(b);
  return module.Forward(b.ctx, dense, sparse);
}

// x0, x1, …
std::vector<Variable> NumberedInputs(Bench& b) {
  std::vector<Variable> inputs;
  for (int64_t i = 0; i < Size(b, "inputs"); ++i)
    inputs.push_back(b.Input("x" + std::to_string(i)));
  return inputs;
}

Variable RunDeepFm(Bench& b) {
  const DeepFm module(b.ctx, Size(b, "in"), b.Sizes("mlp"));
  b.Bind(module);
  return module.Forward(b.ctx, NumberedInputs(b));
}

const std::map<std::string, std::function<Variable(Bench&)>>& Ops() {
  static const std::map<std::string, std::function<Variable(Bench&)>> ops = {
      {"linear",
       [](Bench& b) {
         return Linear(b.ctx, b.Input("x"), b.Param("weight"),
                       b.attrs.at("bias").get<bool>() ? b.Param("bias") : Variable());
       }},
      {"activation", RunActivation},
      {"layer_norm",
       [](Bench& b) {
         return LayerNorm(b.ctx, b.Input("x"), b.Param("weight"), b.Param("bias"),
                          b.attrs.at("eps").get<float>());
       }},
      {"swish_layernorm",
       [](Bench& b) {
         return SwishLayerNorm(b.ctx, b.Input("x"), b.Param("norm.0.weight"),
                               b.Param("norm.0.bias"), b.attrs.at("eps").get<float>());
       }},
      {"mlp", RunMlp},
      {"over_arch",
       [](Bench& b) {
         return b.Apply(OverArch(b.ctx, b.attrs.at("in").get<int64_t>(), b.Sizes("layers")),
                        b.Input("x"));
       }},
      {"interaction", RunInteraction},
      {"interaction_projection", RunProjection},
      {"bce_with_logits",
       [](Bench& b) {
         return BceWithLogits(b.ctx, b.Input("logits"), b.Given("labels"), b.Given("weights"));
       }},
      {"bce", [](Bench& b) { return Bce(b.ctx, b.Input("p"), b.Given("labels")); }},
      {"mse", [](Bench& b) { return Mse(b.ctx, b.Input("x"), b.Given("labels")); }},
      {"softmax_cross_entropy",
       [](Bench& b) { return SoftmaxCrossEntropy(b.ctx, b.Input("logits"), b.Given("labels")); }},
      {"in_batch_softmax", RunInBatchSoftmax},
      {"two_tower_dot", [](Bench& b) { return RowDot(b.ctx, b.Input("q"), b.Input("c")); }},
      {"cosine_similarity",
       [](Bench& b) {
         return CosineSimilarity(b.ctx, b.Input("q"), b.Input("c"), b.attrs.at("eps").get<float>());
       }},
      {"crossnet",
       [](Bench& b) {
         return b.Apply(CrossNet(b.ctx, Size(b, "in"), Size(b, "layers")), b.Input("x"));
       }},
      {"low_rank_crossnet",
       [](Bench& b) {
         return b.Apply(
             LowRankCrossNet(b.ctx, Size(b, "in"), Size(b, "layers"), Size(b, "low_rank")),
             b.Input("x"));
       }},
      {"vector_crossnet",
       [](Bench& b) {
         return b.Apply(VectorCrossNet(b.ctx, Size(b, "in"), Size(b, "layers")), b.Input("x"));
       }},
      {"low_rank_mixture_crossnet", RunMixture},
      {"interaction_dcn", RunDcn},
      {"factorization_machine",
       [](Bench& b) { return FactorizationMachine(b.ctx, JoinedRows(b.ctx, NumberedInputs(b))); }},
      {"deepfm", RunDeepFm},
  };
  return ops;
}

}  // namespace

Answer RunDense(Context& ctx, const Case& c) {
  const std::string op = c.attrs.at("op").get<std::string>();
  const auto found = Ops().find(op);
  if (found == Ops().end()) throw Unsupported("op " + op);
  Bench bench(ctx, c);
  Tape tape(ctx);
  const Variable y = found->second(bench);
  return bench.Backward(tape, y);
}

}  // namespace tessera::conformance
