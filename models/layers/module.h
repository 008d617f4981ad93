#ifndef TESSERA_MODELS_LAYERS_MODULE_H_
#define TESSERA_MODELS_LAYERS_MODULE_H_
// A part of a model that has parameters. Their names are those of the same module's state_dict in
// TorchRec.
#include <string>
#include <vector>

#include "runtime/named_parameter.h"

namespace tessera {

class Module {
 public:
  virtual ~Module() = default;
  // Appends the module's parameters, each named `prefix` + its own name ("dense_arch." +
  // "model._mlp.0._linear.weight").
  virtual void AppendParameters(const std::string& prefix,
                                std::vector<NamedParameter>& out) const = 0;

  // AppendParameters of an empty list.
  std::vector<NamedParameter> Parameters(const std::string& prefix = "") const {
    std::vector<NamedParameter> parameters;
    AppendParameters(prefix, parameters);
    return parameters;
  }
};

}  // namespace tessera
#endif  // TESSERA_MODELS_LAYERS_MODULE_H_
