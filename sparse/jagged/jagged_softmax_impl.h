#ifndef TESSERA_SPARSE_JAGGED_JAGGED_SOFTMAX_IMPL_H_
#define TESSERA_SPARSE_JAGGED_JAGGED_SOFTMAX_IMPL_H_
// The devices' halves of jagged_softmax.h. Tensors are contiguous [N, D].
#include "runtime/device/device.h"
#include "runtime/numbers/math.h"
#include "runtime/tensor.h"
#include "sparse/ops/segments.h"

namespace tessera::internal {

// e^x by way of doubles, so that CPU and GPU have the same bits.
TESSERA_HD float FloatExp(float x) { return static_cast<float>(Exp(static_cast<double>(x))); }

void Softmax(OnCpu, Context& ctx, const Segments& segments, const Tensor& x, const Tensor& y);
void Softmax(OnCuda, Context& ctx, const Segments& segments, const Tensor& x, const Tensor& y);
// gx from y and the gradient g of y.
void SoftmaxBack(OnCpu, Context& ctx, const Segments& segments, const Tensor& y, const Tensor& g,
                 const Tensor& gx);
void SoftmaxBack(OnCuda, Context& ctx, const Segments& segments, const Tensor& y, const Tensor& g,
                 const Tensor& gx);

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_JAGGED_JAGGED_SOFTMAX_IMPL_H_
