#ifndef TESSERA_SPARSE_SEGMENTS_H_
#define TESSERA_SPARSE_SEGMENTS_H_
// Checked lengths and offsets of segments on the host, and sums over segments.
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/tensor.h"

namespace tessera {

// Complete offsets of lengths (i32 or i64, any shape, read flat). Throws Error for a negative
// length.
std::vector<int64_t> OffsetsOfLengths(const Tensor& lengths);
// Σ of lengths group_offsets[g] … group_offsets[g+1]. Throws Error for a negative length.
std::vector<int64_t> SumsOfLengths(const Tensor& lengths, std::span<const int64_t> group_offsets);
// The numbers of a complete offsets tensor. Throws Error naming `what` unless they start at 0 and
// don't fall.
std::vector<int64_t> CheckedOffsets(const Tensor& offsets, const char* what);

// y[s] = Σ values[csr_seg[s]·batch_size … csr_seg[s+1]·batch_size), in order; 0 for an empty
// segment. values [n], any number type (half floats are added in f32); y has its dtype. Throws
// Error unless csr_seg is non-decreasing within values.
Tensor SegmentSumCsr(Context& ctx, int64_t batch_size, const Tensor& csr_seg, const Tensor& values);

}  // namespace tessera
#endif  // TESSERA_SPARSE_SEGMENTS_H_
