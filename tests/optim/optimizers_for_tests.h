#ifndef TESSERA_TESTS_OPTIM_OPTIMIZERS_FOR_TESTS_H_
#define TESSERA_TESTS_OPTIM_OPTIMIZERS_FOR_TESTS_H_
// Small optimizers for tests of what is built round them.
#include <memory>

#include "optim/dense_optimizer.h"

namespace tessera::testing {

inline NamedParameter Ones(Context& ctx, const std::string& name, const Shape& shape = {2}) {
  return {name, Variable(Tensor::Full(ctx, shape, 1), /*requires_grad=*/true)};
}

inline std::shared_ptr<DenseOptimizer> MakeDense(Context& ctx,
                                                 const std::vector<NamedParameter>& parameters,
                                                 const std::string& name = "sgd", double lr = 0.1) {
  DenseOptimizerConfig config(name);
  config.lr = lr;
  return std::make_shared<DenseOptimizer>(ctx, parameters, config);
}

// Replaces the gradient.
inline void SetGradient(Context& ctx, NamedParameter& p, const std::vector<float>& values) {
  p.variable.ZeroGrad();
  p.variable.AccumulateGrad(ctx, Tensor::From(ctx, p.variable.shape(), values));
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_OPTIM_OPTIMIZERS_FOR_TESTS_H_
