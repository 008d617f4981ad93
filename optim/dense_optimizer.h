#ifndef TESSERA_OPTIM_DENSE_OPTIMIZER_H_
#define TESSERA_OPTIM_DENSE_OPTIMIZER_H_
// Optimizers of ordinary variables (MLPs, norms, tables in dense mode): torch.optim's SGD, Adagrad,
// Adam, AdamW and TorchRec's dense row-wise Adagrad, one parallel loop or launch over all
// parameters a step, with the same bits on every device.
// (Embedding tables are updated inside backward instead, by the rules of optim/rule.h.)
//
//   DenseOptimizer optimizer(ctx, model.Parameters(), config);
//   { Tape tape(ctx); tape.Backward(Loss(…)); }
//   optimizer.Step(ctx);
//   optimizer.ZeroGrad();
#include <array>
#include <string>
#include <vector>

#include "optim/dense_optimizer_config.h"
#include "runtime/named_parameter.h"

namespace tessera {

namespace internal {
struct DenseStepArgs;
}

// One thing remembered of one parameter, f32: torch's names, `step` [], `momentum_buffer`, `sum`,
// `exp_avg`, `exp_avg_sq`, `max_exp_avg_sq`, shaped like the parameter (row-wise `sum`: [rows, 1]).
// `step` lies on the host, the others with the parameter.
struct DenseOptimizerState {
  std::string parameter, state;
  Tensor tensor;
};

class DenseOptimizer {
 public:
  // Throws Error for a config that Check refuses, repeated names, a parameter that is no contiguous
  // f32 variable requiring a gradient, or, row-wise, is no matrix.
  DenseOptimizer(Context& ctx, std::vector<NamedParameter> parameters, DenseOptimizerConfig config);

  // Updates, in place, every parameter that has a gradient; the others keep value, state and step
  // count.
  void Step(Context& ctx);
  void ZeroGrad();

  double learning_rate() const { return config_.lr; }
  void SetLearningRate(double lr);
  const DenseOptimizerConfig& config() const { return config_; }
  const std::vector<NamedParameter>& parameters() const { return parameters_; }

  // All states that exist, by parameter, sharing their memory: those of SGD and Adam exist after a
  // parameter's first update.
  std::vector<DenseOptimizerState> States() const;
  // Replaces all state by copies of these; a parameter that isn't named is as new. Throws Error,
  // and changes nothing, for an unknown parameter or state, a wrong shape or dtype, or a parameter
  // of which a state is missing.
  void LoadStates(Context& ctx, const std::vector<DenseOptimizerState>& states);

 private:
  static constexpr int kMaxStates = 4;
  using Slots = std::array<Tensor, kMaxStates>;  // as state_names_; undefined until they exist

  Shape StateShape(size_t slot, const Shape& parameter) const;
  Slots InitialSlots(Context& ctx, const Shape& parameter) const;
  size_t SlotOf(const std::string& state) const;
  internal::DenseStepArgs PrepareStep(Context& ctx, size_t parameter, const Tensor& gradient);

  std::vector<NamedParameter> parameters_;
  DenseOptimizerConfig config_;
  std::vector<std::string> state_names_;
  std::vector<Slots> slots_;  // one a parameter
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_DENSE_OPTIMIZER_H_
