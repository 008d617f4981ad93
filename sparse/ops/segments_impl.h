#ifndef TESSERA_SPARSE_OPS_SEGMENTS_IMPL_H_
#define TESSERA_SPARSE_OPS_SEGMENTS_IMPL_H_
// The devices' halves of segments.h.
#include <span>

#include "runtime/base/host_device.h"
#include "runtime/device/device.h"
#include "sparse/ops/segments.h"

namespace tessera::internal {

// lengths: contiguous.
Segments SegmentsOfLengths(OnCpu, Context& ctx, const Tensor& lengths, int64_t longest);
Segments SegmentsOfLengths(OnCuda, Context& ctx, const Tensor& lengths, int64_t longest);
Segments SegmentsOverLengths(OnCpu, Context& ctx, const Tensor& lengths, int64_t rows,
                             const char* what);
Segments SegmentsOverLengths(OnCuda, Context& ctx, const Tensor& lengths, int64_t rows,
                             const char* what);
// offsets: [n+1]. from_zero: whether the first has to be 0, and the last `rows`; else they lie in
// [0, rows].
Segments SegmentsOverOffsets(OnCpu, Context& ctx, const Tensor& offsets, int64_t rows,
                             const char* what, bool from_zero);
Segments SegmentsOverOffsets(OnCuda, Context& ctx, const Tensor& offsets, int64_t rows,
                             const char* what, bool from_zero);

// Offsets (i64) of rows of a matrix of lengths, read flat: [rows+1]; on a device those of every
// length, [numel+1], unchecked.
Tensor OffsetsOfRows(OnCpu, Context& ctx, const Tensor& lengths, int64_t rows);
Tensor OffsetsOfRows(OnCuda, Context& ctx, const Tensor& lengths, int64_t rows);

// y[s] = the sum of values[offsets[s]·batch … offsets[s+1]·batch).
void SumSegments(OnCpu, Context& ctx, const Segments& segments, int64_t batch, const Tensor& values,
                 const Tensor& y);
void SumSegments(OnCuda, Context& ctx, const Segments& segments, int64_t batch,
                 const Tensor& values, const Tensor& y);

// Throws Error for the first length outside [0, longest].
void CheckLengths(std::span<const int64_t> lengths, int64_t longest);

// Sets *broken unless offsets[0 … last] start at 0, don't fall and end at `rows`.
struct FindBadOffset {
  const int64_t* offsets;
  int64_t last, rows;
  int64_t* broken;
  TESSERA_HD void operator()(int64_t i) const {
    const bool good = (i > 0 || offsets[0] == 0) &&
                      (i < last ? offsets[i] <= offsets[i + 1] : offsets[i] == rows);
    if (!good) *broken = 1;
  }
};

// Type in which values are summed. Integers wrap around in the end, as they would have on the way.
template <typename T>
struct SumOf {
  using Type = int64_t;
};
template <>
struct SumOf<double> {
  using Type = double;
};
template <>
struct SumOf<float> {
  using Type = float;
};
template <>
struct SumOf<Half> {
  using Type = float;
};
template <>
struct SumOf<BFloat16> {
  using Type = float;
};

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_OPS_SEGMENTS_IMPL_H_
