#ifndef TESSERA_SPARSE_OPS_SEGMENTS_H_
#define TESSERA_SPARSE_OPS_SEGMENTS_H_
// Rows cut into segments, as every jagged op sees them: i64 offsets on the context's device.
//
//   lengths   [n]     2 0 3        i32 or i64, as given
//   offsets   [n+1]   0 2 2 5
//
// Malformed input: the CPU refuses it. A device refuses it too where an op must wait anyway, for a
// size that depends on the numbers; else nobody waits, offsets are cut to the rows there are, so
// that no kernel leaves its memory, and the answer means nothing.
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "runtime/tensor.h"

namespace tessera {

struct Segments {
  Tensor offsets;    // i64 [n+1], contiguous
  int64_t rows = 0;  // where the last segment ends
  int64_t count() const { return offsets.dim(0) - 1; }
};

// Makes segments of lengths (any shape, read flat). Waits for a device. Throws Error for a negative
// length, or one above `longest`.
Segments SegmentsOfLengths(Context& ctx, const Tensor& lengths,
                           int64_t longest = std::numeric_limits<int64_t>::max());
// Makes segments of lengths or complete offsets that cover `rows` rows. Never waits. Throws Error
// naming `what` for lengths that are negative or don't sum to `rows`, offsets that don't start at
// 0, fall or don't end at `rows`; on a device, for the shape alone.
Segments SegmentsOverLengths(Context& ctx, const Tensor& lengths, int64_t rows, const char* what);
Segments SegmentsOverOffsets(Context& ctx, const Tensor& offsets, int64_t rows, const char* what);

// y[s] = Σ values[csr_seg[s]·batch_size … csr_seg[s+1]·batch_size), in the order of
// runtime/numbers/lanes.h; 0 for an empty segment. values [n], any number type (half floats are
// added in f32); y has its dtype. Throws Error unless csr_seg is non-decreasing within values.
Tensor SegmentSumCsr(Context& ctx, int64_t batch_size, const Tensor& csr_seg, const Tensor& values);

// On the host:

// A 1-D index tensor (i32 or i64) as int64 numbers. Waits for a device.
std::vector<int64_t> ToInt64(const Tensor& indices);
// Complete cumulative sum.
std::vector<int64_t> HostOffsets(std::span<const int64_t> lengths);
// The numbers of a complete offsets tensor. Waits for a device. Throws Error naming `what` unless
// they start at 0 and don't fall.
std::vector<int64_t> CheckedOffsets(const Tensor& offsets, const char* what);

}  // namespace tessera
#endif  // TESSERA_SPARSE_OPS_SEGMENTS_H_
