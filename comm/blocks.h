#ifndef TESSERA_COMM_BLOCKS_H_
#define TESSERA_COMM_BLOCKS_H_
// One-dimensional views of a tensor, one a rank, and tensors made of such blocks.
#include <vector>

#include "runtime/tensor.h"

namespace tessera::internal {

// REQUIRES: contiguous.
Tensor Flat(const Tensor& tensor);
// Views of counts[0], counts[1], … elements of `tensor` one behind another.
std::vector<Tensor> CutFlat(const Tensor& tensor, const std::vector<int64_t>& counts);
// A new tensor of `shape`: the blocks' elements one behind another.
Tensor Join(Context& ctx, const std::vector<Tensor>& blocks, const Shape& shape);
// [n, S] for shape S.
Shape Stacked(const Shape& shape, int64_t n);

}  // namespace tessera::internal
#endif  // TESSERA_COMM_BLOCKS_H_
