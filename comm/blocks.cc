#include "comm/blocks.h"

namespace tessera::internal {

Tensor Flat(const Tensor& tensor) { return tensor.Reshape({tensor.numel()}); }

std::vector<Tensor> CutFlat(const Tensor& tensor, const std::vector<int64_t>& counts) {
  const Tensor flat = Flat(tensor);
  std::vector<Tensor> blocks;
  int64_t begin = 0;
  for (const int64_t count : counts) {
    blocks.push_back(flat.Narrow(0, begin, count));
    begin += count;
  }
  return blocks;
}

Tensor Join(Context& ctx, const std::vector<Tensor>& blocks, const Shape& shape) {
  Tensor joined = Tensor::Empty(ctx, {shape.numel()}, blocks.at(0).dtype());
  int64_t begin = 0;
  for (const Tensor& block : blocks) {
    joined.Narrow(0, begin, block.numel()).CopyFrom(ctx, block);
    begin += block.numel();
  }
  return joined.Reshape(shape);
}

Shape Stacked(const Shape& shape, int64_t n) {
  std::vector<int64_t> dims = {n};
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return Shape(dims);
}

}  // namespace tessera::internal
