#ifndef TESSERA_SPARSE_OPS_PERMUTE_IMPL_H_
#define TESSERA_SPARSE_OPS_PERMUTE_IMPL_H_
// The devices' halves of permute.h.
#include "runtime/device/device.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// y[permute[i]] = i, permute contiguous.
void InvertPermute(OnCpu, Context& ctx, const Tensor& permute, const Tensor& y);
void InvertPermute(OnCuda, Context& ctx, const Tensor& permute, const Tensor& y);

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_OPS_PERMUTE_IMPL_H_
