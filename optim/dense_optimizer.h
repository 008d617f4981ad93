#ifndef TESSERA_OPTIM_DENSE_OPTIMIZER_H_
#define TESSERA_OPTIM_DENSE_OPTIMIZER_H_
// Optimizers of ordinary variables (MLPs, norms, tables in dense mode): torch.optim's SGD, Adagrad,
// Adam, AdamW and TorchRec's dense row-wise Adagrad, one parallel loop or launch over all
// parameters a step, with the same bits on every device.
// (Embedding tables are updated inside backward instead, by the rules of optim/rules/rule.h.)
//
//   DenseOptimizer optimizer(ctx, model.Parameters(), config);
//   { Tape tape(ctx); tape.Backward(Loss(…)); }
//   optimizer.Step(ctx);
//   optimizer.ZeroGrad();
#include <array>
#include <map>
#include <string>
#include <vector>

#include "optim/dense_optimizer_config.h"
#include "optim/optimizer.h"
#include "runtime/tensor.h"

namespace tessera {

namespace internal {
struct DenseStepArgs;
}

// One group of parameters. Keys are their names; what is remembered of a parameter has torch's
// names, f32: `step` [], and, shaped like the parameter, `momentum_buffer`, `sum` (row-wise: [rows,
// 1]), `exp_avg`, `exp_avg_sq`, `max_exp_avg_sq`. `step` lies on the host, the others with the
// parameter. States of SGD and Adam exist after a parameter's first update, those of Adagrad from
// the start.
class DenseOptimizer final : public Optimizer {
 public:
  // Throws Error for a config that Check refuses, repeated names, a parameter that is no contiguous
  // f32 variable requiring a gradient, or, row-wise, is no matrix.
  DenseOptimizer(Context& ctx, std::vector<NamedParameter> parameters, DenseOptimizerConfig config);

  // Updates, in place, every parameter that has a gradient; the others keep value, state and step
  // count.
  void Step(Context& ctx) override;
  void ZeroGrad() override;

  std::vector<std::string> Keys() const override;
  std::vector<NamedParameter> Variables() const override { return parameters_; }
  const std::vector<NamedParameter>& parameters() const { return parameters_; }

  // One: with the optimizer's options, as DenseOptimizerConfig names them.
  std::vector<ParamGroup> ParamGroups() const override;
  int num_groups() const override { return 1; }
  double GroupLearningRate(int group) const override;
  void SetGroupLearningRate(int group, double lr) override;
  double learning_rate() const { return config_.lr; }
  void SetLearningRate(double lr) override;
  const DenseOptimizerConfig& config() const { return config_; }

  OptimizerStateDict StateDict() const override;
  void CheckStateDict(const OptimizerStateDict& state) const override;
  void LoadStateDict(Context& ctx, const OptimizerStateDict& state) override;

 private:
  static constexpr int kMaxStates = 4;
  using Slots = std::array<Tensor, kMaxStates>;  // as state_names_; undefined until they exist

  Shape StateShape(size_t slot, const Shape& parameter) const;
  Slots InitialSlots(Context& ctx, const Shape& parameter) const;
  bool HasState(size_t parameter) const;
  Slots LoadedSlots(Context& ctx, const std::map<std::string, Tensor>& states) const;
  // Counts a step of the parameter, whose states begin if they do not exist; returns whether they
  // did not.
  bool BeginStep(Context& ctx, size_t parameter, const Tensor& gradient);
  bool CountsSteps() const;
  void CountStep(size_t parameter);
  // Returns what the last step that was counted computes with.
  internal::DenseStepArgs StepOf(size_t parameter, const float* gradient) const;

  std::vector<NamedParameter> parameters_;
  DenseOptimizerConfig config_;
  std::vector<std::string> state_names_;
  std::vector<Slots> slots_;  // one a parameter
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_DENSE_OPTIMIZER_H_
