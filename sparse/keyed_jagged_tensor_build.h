#ifndef TESSERA_SPARSE_KEYED_JAGGED_TENSOR_BUILD_H_
#define TESSERA_SPARSE_KEYED_JAGGED_TENSOR_BUILD_H_
// Functions that build and check the state of a KeyedJaggedTensor.
#include <memory>
#include <vector>

#include "sparse/keyed_jagged_tensor.h"
#include "sparse/ops/offsets_check.h"

namespace tessera::internal {

// Makes the state from a user's arguments, which are checked.
std::shared_ptr<KjtState> CheckedKjtState(KeyedJaggedTensorArgs args);

// Makes the state from parts of a KeyedJaggedTensor that is known to be well-formed. `state` brings
// keys, values, weights, lengths, stride, variable_stride, stride_per_key and length_per_key; what
// follows from them is filled in.
std::shared_ptr<KjtState> DerivedKjtState(KjtState state);

// How the lengths and offsets of a state are checked, whose keys and strides are known.
OffsetsCheckArgs CheckOf(const KjtState& state);
void SetTotals(std::vector<int64_t> length_per_key, KjtState* state);

// Tensors [0] without keys.
Tensor EmptyTensor(DType dtype);

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_KEYED_JAGGED_TENSOR_BUILD_H_
