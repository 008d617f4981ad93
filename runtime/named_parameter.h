#ifndef TESSERA_RUNTIME_NAMED_PARAMETER_H_
#define TESSERA_RUNTIME_NAMED_PARAMETER_H_
// Variables and tensors with names: how modules, optimizers and checkpoints speak of them.
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/autograd.h"

namespace tessera {

struct NamedParameter {
  std::string name;
  Variable variable;
};

// A tensor that does not lie in memory: its rows, row-major, to and from the host. Throw Error
// where that fails.
struct RowsElsewhere {
  std::function<void(std::span<const int64_t> rows, void* bytes)> read;
  std::function<void(std::span<const int64_t> rows, const void* bytes)> write;
};

// A tensor by name. With `stored`, the tensor has a shape and a type, and no memory.
struct NamedTensor {
  std::string name;
  Tensor tensor;
  std::shared_ptr<const RowsElsewhere> stored = nullptr;
};

// The parameters' values, under their names; they share memory.
inline std::vector<NamedTensor> ValuesOf(std::span<const NamedParameter> parameters) {
  std::vector<NamedTensor> values;
  for (const NamedParameter& p : parameters) values.push_back({p.name, p.variable.value()});
  return values;
}

}  // namespace tessera
#endif  // TESSERA_RUNTIME_NAMED_PARAMETER_H_
