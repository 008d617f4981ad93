#ifndef TESSERA_SPARSE_JAGGED_JAGGED_LAYOUT_IMPL_H_
#define TESSERA_SPARSE_JAGGED_JAGGED_LAYOUT_IMPL_H_
// The devices' halves of JaggedLayout. Tensors are contiguous, `padded` and `values` of fitting
// shapes and one dtype.
#include "runtime/device/device.h"
#include "sparse/jagged/jagged_layout.h"

namespace tessera::internal {

void Pad(OnCpu, Context& ctx, const JaggedLayout& layout, const Tensor& values, double padding,
         const Tensor& padded);
void Pad(OnCuda, Context& ctx, const JaggedLayout& layout, const Tensor& values, double padding,
         const Tensor& padded);
void Unpad(OnCpu, Context& ctx, const JaggedLayout& layout, const Tensor& padded,
           const Tensor& values);
void Unpad(OnCuda, Context& ctx, const JaggedLayout& layout, const Tensor& padded,
           const Tensor& values);

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_JAGGED_JAGGED_LAYOUT_IMPL_H_
