#ifndef TESSERA_SPARSE_SAME_FEATURES_H_
#define TESSERA_SPARSE_SAME_FEATURES_H_
// Whether two KJTs are one and the same batch, so that what was computed of one is good for the
// other.
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

// Whether both have the same keys and bags and share their tensors: ids, lengths or offsets,
// inverse indices and, if `weighted`, weights. Equal values in other tensors are not the same;
// weights that need a gradient are the same as the same variable alone. Waits for nothing.
bool SameFeatures(const KeyedJaggedTensor& a, const KeyedJaggedTensor& b, bool weighted);

}  // namespace tessera
#endif  // TESSERA_SPARSE_SAME_FEATURES_H_
