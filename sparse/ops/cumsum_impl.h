#ifndef TESSERA_SPARSE_OPS_CUMSUM_IMPL_H_
#define TESSERA_SPARSE_OPS_CUMSUM_IMPL_H_
// The devices' halves of cumsum.h.
#include "runtime/base/host_device.h"
#include "runtime/device/device.h"
#include "runtime/tensor.h"
#include "sparse/ops/segments.h"

namespace tessera::internal {

enum class CumsumKind { kComplete, kInclusive, kExclusive };

// t: contiguous [rows, n]; y: [rows, n], for kComplete [rows, n+1].
void Cumsum(OnCpu, Context& ctx, const Tensor& t, CumsumKind kind, const Tensor& y);
void Cumsum(OnCuda, Context& ctx, const Tensor& t, CumsumKind kind, const Tensor& y);
void LengthsFromOffsets(OnCpu, Context& ctx, const Tensor& offsets, const Tensor& lengths);
void LengthsFromOffsets(OnCuda, Context& ctx, const Tensor& offsets, const Tensor& lengths);
// y[i] = first[s] + place of i in its segment s; first: i64 [segments], or undefined for 0.
void FillRanges(OnCpu, Context& ctx, const Segments& segments, const Tensor& first,
                const Tensor& y);
void FillRanges(OnCuda, Context& ctx, const Segments& segments, const Tensor& first,
                const Tensor& y);

template <typename T>
struct Difference {
  const T* offsets;
  T* lengths;
  TESSERA_HD void operator()(int64_t i) const {
    lengths[i] = static_cast<T>(offsets[i + 1] - offsets[i]);
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_OPS_CUMSUM_IMPL_H_
