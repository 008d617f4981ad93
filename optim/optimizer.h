#ifndef TESSERA_OPTIM_OPTIMIZER_H_
#define TESSERA_OPTIM_OPTIMIZER_H_
// The interface of all optimizers, by which learning rates are set and state is saved in one way:
// those of ordinary variables (DenseOptimizer), those of tables that are updated inside backward
// (embedding/fused_optimizer.h), and those of both together (CombinedOptimizer, WarmupOptimizer,
// GradientClippingOptimizer). TorchRec calls it a KeyedOptimizer: parameters have keys.
//
// Parameters are in groups; those of a group share their options, the learning rate among them.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/named_parameter.h"
#include "runtime/tensor.h"

namespace tessera {

// Optimizer state by the parameter's key, then by the state's name. A parameter without state has
// no entry.
using OptimizerStateDict = std::map<std::string, std::map<std::string, Tensor>>;

struct ParamGroup {
  std::vector<std::string> parameters;                  // keys, sorted
  std::vector<std::pair<std::string, double>> options;  // "lr" first; flags are 0 or 1
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Updates every parameter that has a gradient.
  virtual void Step(Context& ctx) = 0;
  // Forgets the gradients of all parameters that are variables.
  virtual void ZeroGrad() = 0;

  // Keys of all that may have state: the parameters, in order, and what a WarmupOptimizer adds.
  virtual std::vector<std::string> Keys() const = 0;
  // Those parameters that are variables, with their keys as names.
  virtual std::vector<NamedParameter> Variables() const = 0;

  // The groups, with their options as they are now.
  virtual std::vector<ParamGroup> ParamGroups() const = 0;
  virtual int num_groups() const = 0;
  // Throw Error for a group that isn't there, or a rate that is no finite number.
  virtual double GroupLearningRate(int group) const = 0;
  virtual void SetGroupLearningRate(int group, double lr) = 0;
  // Sets the learning rate of all groups.
  virtual void SetLearningRate(double lr) = 0;

  // All states by parameter and name. Tensors of elements and rows share memory with the optimizer;
  // step counters of tables (FusedOptimizer's `iter` and `max_counter`) are copies: whoever loads
  // into these tensors gives them to LoadStateDict, too.
  virtual OptimizerStateDict StateDict() const = 0;
  // Throws Error, naming keys, unless LoadStateDict takes this: the keys are those of StateDict()
  // (and may be those of parameters that have no state yet), each with all its states, and no
  // others, of the right shape and dtype. May wait for the device.
  virtual void CheckStateDict(const OptimizerStateDict& state) const = 0;
  // Loads copies of these states, which may lie on any device. Throws Error, and changes nothing,
  // where CheckStateDict does.
  virtual void LoadStateDict(Context& ctx, const OptimizerStateDict& state) = 0;
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_OPTIMIZER_H_
