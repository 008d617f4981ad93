#ifndef TESSERA_EMBEDDING_FEATURE_PROCESSOR_H_
#define TESSERA_EMBEDDING_FEATURE_PROCESSOR_H_
// A feature processor stands before a lookup and gives each id of a batch a weight, which it may
// learn. TorchRec's FeatureProcessorsCollection; PositionWeightedModuleCollection is one.
#include <string>
#include <vector>

#include "runtime/named_parameter.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

class FeatureProcessor {
 public:
  virtual ~FeatureProcessor() = default;
  // Returns the batch with weights, whose gradient flows back into the parameters.
  virtual KeyedJaggedTensor Forward(Context& ctx, const KeyedJaggedTensor& features) = 0;
  // Appends the learned parameters, each name after `prefix`.
  virtual void AppendParameters(const std::string& prefix,
                                std::vector<NamedParameter>& out) const = 0;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_FEATURE_PROCESSOR_H_
