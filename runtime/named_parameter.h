#ifndef TESSERA_RUNTIME_NAMED_PARAMETER_H_
#define TESSERA_RUNTIME_NAMED_PARAMETER_H_
// Variables and tensors with names: how modules, optimizers and checkpoints speak of them.
#include <string>

#include "runtime/autograd.h"

namespace tessera {

struct NamedParameter {
  std::string name;
  Variable variable;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace tessera
#endif  // TESSERA_RUNTIME_NAMED_PARAMETER_H_
