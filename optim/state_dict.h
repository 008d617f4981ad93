#ifndef TESSERA_OPTIM_STATE_DICT_H_
#define TESSERA_OPTIM_STATE_DICT_H_
// Checks that optimizers make on a state dict before they take it.
#include <map>
#include <span>
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// One state as an optimizer expects it.
struct ExpectedState {
  std::string name;
  Shape shape;
  DType dtype = DType::kF32;
};

// Throws Error, naming parameter and state, unless `given` has these states and no others, of these
// shapes and dtypes.
void CheckStatesOf(const std::string& key, const std::map<std::string, Tensor>& given,
                   std::span<const ExpectedState> expected);

// Throws Error, naming the first few, if `state` lacks one of the `required` keys.
void CheckHasKeys(const OptimizerStateDict& state, const std::vector<std::string>& required);

// Throws Error, naming the first few, if `state` has keys that are not among the `known`.
void CheckHasOnlyKeys(const OptimizerStateDict& state, const std::vector<std::string>& known);

// Throws Error, naming the first, if a key is there twice.
void CheckKeysAreUnique(const std::vector<std::string>& keys);

// Throws Error, naming both, if a variable is there under two names: it would be stepped twice.
void CheckVariablesAreUnique(const std::vector<NamedParameter>& parameters);

// Throws Error unless there is such a group.
void CheckGroup(int group, int num_groups);

// Throws Error unless it is a finite number. (It may be negative, as in torch: a polynomial decay
// is, past its end.)
void CheckLearningRate(double lr);

// "prefix.name", or the name alone where the prefix is empty.
std::string PrefixedKey(const std::string& prefix, const std::string& name);

}  // namespace tessera::internal
#endif  // TESSERA_OPTIM_STATE_DICT_H_
